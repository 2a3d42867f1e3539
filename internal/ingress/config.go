package ingress

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/idemsvc/idemsvc/clients/go/webhook"
	"github.com/idemsvc/idemsvc/internal/yamlfile"
)

// What a file may say.
const (
	maxSources   = 256
	maxConsumers = 32  // of a receipt, by the contract
	maxName      = 512 // bytes, by the contract
	maxSecrets   = 8   // of a source
	minSpool     = 64 << 10
	minBody      = 1 << 10
	maxBody      = 64 << 20
	// defaultBody has room for arrays; one event may have 1 MiB.
	defaultBody  = 4 << 20
	defaultSpool = 1 << 30
)

// What happens while the service is away.
const (
	outageReject = "REJECT"
	outageSpool  = "SPOOL"
)

// healthPath tells whether the process takes requests.
const healthPath = "/healthz"

// Config is what a file says.
type Config struct{ Sources []*Source }

// Source is one sender and the path that it delivers to.
type Source struct {
	Path      string
	Name      string   // the event source; empty: the provider's
	Namespace string   // empty: the client's
	Consumers []string // each is to work on every event

	provider  string
	shared    webhook.Shared
	generic   webhook.GenericConfig
	unsigned  bool
	outage    string
	spoolDir  string
	spoolMax  int64
	maxBody   int64
	ordering  bool
	noPayload bool
	tolerance *time.Duration

	secretFiles []string // of each secret; empty for one of the environment
	verifyFile  string   // of the verify token

	made   *webhook.Provider
	begins int
	lines  map[string]int
}

// line is where a field stands; the source itself for one that is not there.
func (s *Source) line(field string) int {
	if n, ok := s.lines[field]; ok {
		return n
	}
	return s.begins
}

// Read reads a file and checks all of it. Secrets are looked up in the environment and in
// the files that it names. Its error is [yamlfile.Problems] where the file can be read and
// something is wrong with it.
func Read(r io.Reader, env func(string) (string, bool)) (*Config, error) {
	p := &parser{env: env, c: &Config{}}
	doc, err := p.Document(r)
	switch {
	case err != nil:
		return nil, err
	case doc == nil:
		return nil, yamlfile.Problems{{Line: 1, Message: "the file is empty: it needs sources"}}
	}
	p.document(doc)
	p.together()
	return p.c, p.Err()
}

// together checks what each source is as a whole, and what they are to each other.
func (p *parser) together() {
	paths, dirs := map[string]int{}, map[string]int{}
	for _, s := range p.c.Sources {
		p.check(s)
		if first, twice := paths[s.Path]; twice && s.Path != "" {
			p.Add(s.line("path"), "path: %s is the path of the source in line %d already", s.Path, first)
		}
		paths[s.Path] = s.begins
		if first, twice := dirs[s.spoolDir]; twice && s.spoolDir != "" {
			p.Add(s.line("spool"), "spool: the folder %s belongs to the source in line %d: each needs its own", s.spoolDir, first)
		}
		dirs[s.spoolDir] = s.begins
	}
}

func (p *parser) check(s *Source) {
	for _, f := range []struct {
		name  string
		given bool
	}{{"path", s.Path != ""}, {"provider", s.provider != ""}, {"consumers", len(s.Consumers) > 0}} {
		if _, said := s.lines[f.name]; !f.given && !said {
			p.Add(s.begins, "%s is missing", f.name)
		}
	}
	if s.outage == outageSpool && s.spoolDir == "" {
		p.Add(s.line("outage"), "outage: SPOOL needs a spool with the folder that it writes to")
	}
	if _, said := s.lines["spool"]; said && s.outage != outageSpool {
		p.Add(s.line("spool"), "spool has no use with outage: %s", s.outage)
	}
	if s.provider == "" || p.broken[s] {
		return // that it cannot be made would say the same again
	}
	if err := s.make(); err != nil {
		field, why := "provider", err.Error()
		if e, ok := errors.AsType[*webhook.SharedError](err); ok && e.Field != "" {
			field = e.Field
		}
		p.Add(s.line(field), "%s", why)
	}
}

// make makes the provider.
func (s *Source) make() error {
	_, hasGeneric := s.lines["generic"]
	if s.provider != genericName && hasGeneric {
		return &webhook.SharedError{Field: "generic", Why: "generic describes a sender that has no provider of its own: leave it out, or write «provider: generic»"}
	}
	signed := len(s.shared.Secrets) > 0
	if s.provider != genericName && s.provider != "cloudevents" && s.unsigned {
		return &webhook.SharedError{Field: "unsigned", Why: "unsigned is for cloudevents and generic alone: " + s.provider + " signs"}
	}
	if (s.provider == genericName || s.provider == "cloudevents") && signed == s.unsigned {
		return &webhook.SharedError{Field: "unsigned", Why: s.provider + " needs secrets, or «unsigned: true»: then whoever reaches the path can make up events"}
	}
	if s.provider != genericName {
		var err error
		if s.made, err = webhook.Named(s.provider, s.shared); err == nil && s.Name != "" {
			s.made = s.made.As(s.Name)
		}
		return err
	}
	if s.Name == "" {
		return &webhook.SharedError{Field: "source", Why: "source is missing: a sender without a provider has no name of its own"}
	}
	g := s.generic
	g.Name, g.Secrets, g.Unsigned, g.URL = s.Name, s.shared.Secrets, s.unsigned, s.shared.URL
	s.made = webhook.Generic(g)
	if err := s.made.Err(); err != nil {
		return &webhook.SharedError{Field: "generic", Why: strings.TrimPrefix(err.Error(), "webhook: ")}
	}
	return nil
}

// genericName is the provider of senders that the file itself describes.
const genericName = "generic"

// options are those of the source's handler, beside the log.
func (s *Source) options() []webhook.Option {
	out := []webhook.Option{webhook.WithMaxBody(s.maxBody)}
	if s.ordering {
		out = append(out, webhook.WithOrdering())
	}
	if s.noPayload {
		out = append(out, webhook.WithoutPayload())
	}
	if s.tolerance != nil {
		out = append(out, webhook.WithTolerance(*s.tolerance))
	}
	if s.outage == outageSpool {
		out = append(out, webhook.Spool(s.spoolDir, webhook.MaxSpool(s.spoolMax)))
	}
	return out
}

// nearest proposes the field that somebody may have meant.
func nearest(name string, known []string) string {
	plain := strings.NewReplacer("-", "", "_", "", " ", "")
	for _, k := range known {
		a, b := strings.ToLower(plain.Replace(name)), plain.Replace(k)
		if a == b || len(a) > 3 && (strings.Contains(b, a) || strings.Contains(a, b)) {
			return fmt.Sprintf(": is %s meant?", k)
		}
	}
	return ": there are " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
}
