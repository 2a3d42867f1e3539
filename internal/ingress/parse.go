package ingress

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/idemsvc/idemsvc/internal/yamlfile"
)

// parser walks the document.
type parser struct {
	yamlfile.Checker
	env    func(string) (string, bool)
	c      *Config
	broken map[*Source]bool // those of whose fields something is wrong
}

func (p *parser) document(n *yaml.Node) {
	keys, values := p.Members(n, "the file")
	p.broken = map[*Source]bool{}
	found := false
	for i, k := range keys {
		if k.Value != "sources" {
			p.Add(k.Line, "there is no field %s: a file has sources", k.Value)
			continue
		}
		found = true
		list := values[i]
		if list.Kind != yaml.SequenceNode || len(list.Content) == 0 || len(list.Content) > maxSources {
			p.Add(list.Line, "sources must be a list of 1 to %d", maxSources)
			continue
		}
		for _, x := range list.Content {
			p.source(x)
		}
	}
	if !found && n.Kind == yaml.MappingNode {
		p.Add(n.Line, "sources is missing")
	}
}

// fields reads a mapping whose fields are known, and tells where each stands.
func (p *parser) fields(n *yaml.Node, what string, known map[string]func(*yaml.Node)) map[string]int {
	lines := map[string]int{}
	keys, values := p.Members(n, what)
	for i, k := range keys {
		read := known[k.Value]
		if read == nil {
			p.Add(k.Line, "%s has no field %s%s", what, k.Value, nearest(k.Value, slices.Collect(maps.Keys(known))))
			continue
		}
		lines[k.Value] = k.Line
		read(values[i])
	}
	return lines
}

func (p *parser) source(n *yaml.Node) {
	s := &Source{begins: n.Line, outage: outageReject, maxBody: defaultBody, spoolMax: defaultSpool}
	before := len(p.Found)
	s.lines = p.fields(n, "a source", map[string]func(*yaml.Node){
		"path":            func(n *yaml.Node) { s.Path = p.path(n) },
		"provider":        func(n *yaml.Node) { s.provider = p.text("provider", n) },
		"source":          func(n *yaml.Node) { s.Name = p.text("source", n) },
		"namespace":       func(n *yaml.Node) { s.Namespace = p.text("namespace", n) },
		"consumers":       func(n *yaml.Node) { s.Consumers = p.texts("consumers", n, maxConsumers) },
		"secrets":         func(n *yaml.Node) { s.shared.Secrets, s.secretFiles = p.secrets(n) },
		"url":             func(n *yaml.Node) { s.shared.URL = p.text("url", n) },
		"verify_token":    func(n *yaml.Node) { s.shared.VerifyToken, s.verifyFile = p.secret("verify_token", n) },
		"webhook_ids":     func(n *yaml.Node) { s.shared.WebhookIDs = p.texts("webhook_ids", n, maxSecrets) },
		"audience":        func(n *yaml.Node) { s.shared.Audience = p.text("audience", n) },
		"email":           func(n *yaml.Node) { s.shared.Email = p.text("email", n) },
		"origins":         func(n *yaml.Node) { s.shared.Origins = p.texts("origins", n, maxConsumers) },
		"unsigned":        func(n *yaml.Node) { s.unsigned = p.flag("unsigned", n) },
		"generic":         func(n *yaml.Node) { p.generic(&s.generic, n) },
		"outage":          func(n *yaml.Node) { s.outage = p.choice("outage", n, outageReject, outageSpool) },
		"spool":           func(n *yaml.Node) { p.spool(s, n) },
		"max_body":        func(n *yaml.Node) { s.maxBody = p.size("max_body", n, minBody, maxBody) },
		"ordering":        func(n *yaml.Node) { s.ordering = p.flag("ordering", n) },
		"without_payload": func(n *yaml.Node) { s.noPayload = p.flag("without_payload", n) },
		"tolerance":       func(n *yaml.Node) { d := p.duration("tolerance", n); s.tolerance = &d },
	})
	if n.Kind != yaml.MappingNode {
		return // that all is missing would say the same again
	}
	p.broken[s] = len(p.Found) > before
	p.c.Sources = append(p.c.Sources, s)
}

func (p *parser) spool(s *Source, n *yaml.Node) {
	p.fields(n, "spool", map[string]func(*yaml.Node){
		"dir": func(n *yaml.Node) { s.spoolDir = path.Clean(p.text("dir", n)) },
		"max": func(n *yaml.Node) { s.spoolMax = p.size("max", n, minSpool, 1<<50) },
	})
}

// path is where a sender delivers to, matched as it is.
func (p *parser) path(n *yaml.Node) string {
	s := p.text("path", n)
	switch {
	case s == "":
	case !strings.HasPrefix(s, "/") || strings.ContainsAny(s, "?#{} ") || path.Clean(s) != s:
		p.Add(n.Line, "path: %q must begin with / and have no query, no space, and no /, . or .. too many", s)
	case s == healthPath:
		p.Add(n.Line, "path: %s tells whether the process is up", s)
	}
	return s
}

// text is 1 to 512 bytes.
func (p *parser) text(name string, n *yaml.Node) string {
	switch {
	case n.Kind == yaml.AliasNode:
		p.Add(n.Line, "%s: write it out, anchors are not followed", name)
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null" || strings.TrimSpace(n.Value) == "":
		p.Add(n.Line, "%s: a text is missing", name)
	case len(n.Value) > maxName || strings.Contains(n.Value, "\x00"):
		p.Add(n.Line, "%s has %d bytes, and may have %d, without NUL", name, len(n.Value), maxName)
	default:
		return n.Value
	}
	return ""
}

// texts is a list of texts, all different.
func (p *parser) texts(name string, n *yaml.Node, most int) []string {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 || len(n.Content) > most {
		p.Add(n.Line, "%s must be a list of 1 to %d", name, most)
		return nil
	}
	var out []string
	for _, x := range n.Content {
		s := p.text(name, x)
		if s != "" && slices.Contains(out, s) {
			p.Add(x.Line, "%s: %q is there twice", name, s)
		}
		out = append(out, s)
	}
	return out
}

func (p *parser) choice(name string, n *yaml.Node, of ...string) string {
	s := p.text(name, n)
	if s != "" && !slices.Contains(of, s) {
		p.Add(n.Line, "%s: %q is none of %s", name, s, strings.Join(of, ", "))
	}
	return s
}

func (p *parser) flag(name string, n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || n.Value != "true" && n.Value != "false" {
		p.Add(n.Line, "%s must be true or false", name)
	}
	return n.Value == "true"
}

func (p *parser) number(name string, n *yaml.Node, most int) int {
	x, err := strconv.Atoi(n.Value)
	if err != nil || x < 0 || x > most {
		p.Add(n.Line, "%s must be a number from 0 to %d", name, most)
	}
	return x
}

func (p *parser) duration(name string, n *yaml.Node) time.Duration {
	d, err := time.ParseDuration(n.Value)
	if err != nil || d < 0 {
		p.Add(n.Line, "%s must be a time such as 5m, and not below 0", name)
	}
	return d
}

// size is a number of bytes, or such as 4MiB.
func (p *parser) size(name string, n *yaml.Node, least, most int64) int64 {
	text, unit := n.Value, int64(1)
	for suffix, u := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if head, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = strings.TrimSpace(head), u
			break
		}
	}
	x, err := strconv.ParseInt(text, 10, 64)
	if err != nil || x < 0 || x > most/unit || x*unit < least {
		p.Add(n.Line, "%s: %q must be %d to %d bytes, such as 4MiB", name, n.Value, least, most)
		return least
	}
	return x * unit
}

// secrets are what stands at the places that are told, and their files.
func (p *parser) secrets(n *yaml.Node) (out, files []string) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 || len(n.Content) > maxSecrets {
		p.Add(n.Line, "secrets must be a list of 1 to %d, each «env: NAME» or «file: PATH»", maxSecrets)
		return nil, nil
	}
	for _, x := range n.Content {
		value, file := p.secret("secrets", x)
		out, files = append(out, value), append(files, file)
	}
	return out, files
}

// maxSecretBytes is the longest secret, such as a public key.
const maxSecretBytes = 16 << 10

// secret is what stands in a variable of the environment, or in a file, less the end of its
// line, and that file. It is never shown.
func (p *parser) secret(name string, n *yaml.Node) (value, file string) {
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 {
		p.Add(n.Line, "%s: write «env: NAME» or «file: PATH»; a secret itself does not belong into the file", name)
		return "", ""
	}
	p.fields(n, name, map[string]func(*yaml.Node){
		"env": func(n *yaml.Node) {
			variable := p.text("env", n)
			v, ok := p.env(variable)
			if variable != "" && (!ok || strings.TrimSpace(v) == "") {
				p.Add(n.Line, "%s: the variable %s is not set", name, variable)
			}
			value = v
		},
		"file": func(n *yaml.Node) {
			if file = p.text("file", n); file != "" {
				b, err := readSecret(file)
				if err != nil {
					p.Add(n.Line, "%s: %v", name, err)
				}
				value = b
			}
		},
	})
	return value, file
}

func readSecret(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxSecretBytes+1))
	s := strings.TrimRight(string(b), "\r\n")
	switch {
	case err != nil:
		return "", err
	case len(b) > maxSecretBytes:
		return "", fmt.Errorf("%s has more than %d bytes", file, maxSecretBytes)
	case strings.TrimSpace(s) == "":
		return "", errors.New(file + " is empty")
	}
	return s, nil
}
