// Package policyfile reads and writes the policies of a namespace as YAML.
package policyfile

import (
	"encoding/json"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/yamlfile"
)

// MaxBytes is the longest file that is read.
const MaxBytes = yamlfile.MaxBytes

// File is what a file says.
type File struct {
	Namespace string // empty: it names none
	Rules     []idem.Rule
	lines     []ruleLines
}

// ruleLines is where a policy stands in its file.
type ruleLines struct {
	begins int
	fields map[string]int
}

// Line is where a policy's field stands; the policy itself for a field that it does not
// have, and 1 for a policy that is none.
func (f *File) Line(rule int, field string) int {
	if rule < 0 || rule >= len(f.lines) {
		return 1
	}
	if n, ok := f.lines[rule].fields[field]; ok {
		return n
	}
	return f.lines[rule].begins
}

// Problem is something wrong with a file.
type Problem = yamlfile.Problem

// Problems are all that is wrong with a file, in the order of its lines.
type Problems = yamlfile.Problems

// Read reads a file and checks all of it. Its error is [Problems] where the file can be
// read and something is wrong with it. Values are in their canonical form.
func Read(r io.Reader) (*File, error) {
	p := &parser{f: &File{}}
	doc, err := p.Document(r)
	switch {
	case err != nil:
		return nil, err
	case doc == nil:
		return nil, Problems{{Line: 1, Message: "the file is empty; to end all policies, write «policies: []»"}}
	}
	p.document(doc)
	for _, x := range idem.CheckRules(p.f.Rules) {
		if x.Field != "" && !strings.HasPrefix(x.Message, x.Field) {
			x.Message = x.Field + ": " + x.Message
		}
		p.Add(p.f.Line(x.Rule, x.Field), "%s", x.Message)
	}
	return p.f, p.Err()
}

// parser walks the document, so that each problem has its line and none hides another.
type parser struct {
	yamlfile.Checker
	f *File
}

func (p *parser) document(n *yaml.Node) {
	keys, values := p.Members(n, "the file")
	found := false
	for i, k := range keys {
		switch k.Value {
		case "namespace":
			p.f.Namespace = p.text(k.Value, values[i])
		case "policies":
			found = true
			p.policies(values[i])
		default:
			p.Add(k.Line, "there is no field %s: a file has namespace and policies", k.Value)
		}
	}
	if !found && n.Kind == yaml.MappingNode {
		p.Add(n.Line, "policies is missing; to end all of them, write «policies: []»")
	}
}

func (p *parser) policies(n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		p.Add(n.Line, "policies is no list")
		return
	}
	for _, x := range n.Content {
		p.policy(x)
	}
}

func (p *parser) policy(n *yaml.Node) {
	r := idem.Rule{Set: map[string]string{}}
	at := ruleLines{begins: n.Line, fields: map[string]int{}}
	keys, values := p.Members(n, "a policy")
	complete := true
	for i, k := range keys {
		at.fields[k.Value] = k.Line
		if k.Value == "match" {
			p.match(values[i], &r, at.fields)
			continue
		}
		s := idem.FindSetting(k.Value)
		if s == nil {
			p.Add(k.Line, "there is no setting %s%s", k.Value, nearest(k.Value))
			complete = false
			continue
		}
		before := len(p.Found)
		v := p.value(s, values[i])
		if len(p.Found) > before {
			complete = false
			continue
		}
		r.Set[s.Name] = v
	}
	if !complete && len(r.Set) == 0 {
		return // that it sets nothing would say the same again
	}
	p.f.Rules = append(p.f.Rules, r)
	p.f.lines = append(p.f.lines, at)
}

func (p *parser) match(n *yaml.Node, r *idem.Rule, lines map[string]int) {
	keys, values := p.Members(n, "match")
	for i, k := range keys {
		lines[k.Value] = k.Line
		switch k.Value {
		case "consumer":
			r.Consumer = p.text(k.Value, values[i])
		case "source":
			r.Source = p.text(k.Value, values[i])
		case "type":
			r.Type = p.text(k.Value, values[i])
		default:
			p.Add(k.Line, "match has no field %s: it has consumer, source and type", k.Value)
		}
	}
}

// text is a name, which is not empty.
func (p *parser) text(name string, n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || strings.TrimSpace(n.Value) == "" {
		p.Add(n.Line, "%s: a name is missing; leave %s out for any", name, name)
		return ""
	}
	return n.Value
}

// value is the text of a setting.
func (p *parser) value(s *idem.Setting, n *yaml.Node) string {
	switch s.Kind {
	case idem.Names, idem.Machines:
		v := p.plain(s.Name, n, 0)
		b, err := json.Marshal(v)
		if err != nil { // texts, lists and maps of texts
			p.Add(n.Line, "%s: %v", s.Name, err)
		}
		return string(b)
	default:
		if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
			p.Add(n.Line, "%s: a value is missing: %s", s.Name, s.Limits)
			return ""
		}
		return n.Value
	}
}

// maxDepth is how deep the values of settings go: machines, edges, a state, those after it.
const maxDepth = 4

// plain is a value of texts, lists and mappings.
func (p *parser) plain(name string, n *yaml.Node, depth int) any {
	switch {
	case depth > maxDepth:
		p.Add(n.Line, "%s: this is nested too deep", name)
	case n.Kind == yaml.ScalarNode && n.Tag != "!!null":
		return n.Value
	case n.Kind == yaml.SequenceNode:
		list := []any{}
		for _, x := range n.Content {
			list = append(list, p.plain(name, x, depth+1))
		}
		return list
	case n.Kind == yaml.MappingNode:
		m := map[string]any{}
		keys, values := p.Members(n, name)
		for i, k := range keys {
			m[k.Value] = p.plain(name, values[i], depth+1)
		}
		return m
	case n.Kind == yaml.AliasNode:
		p.Add(n.Line, "%s: write it out, anchors are not followed", name)
	default:
		p.Add(n.Line, "%s: a value is missing", name)
	}
	return nil
}

// nearest proposes the setting that somebody may have meant.
func nearest(name string) string {
	for _, s := range idem.Settings {
		if strings.EqualFold(strings.NewReplacer("-", "", "_", "", " ", "").Replace(name), strings.ReplaceAll(s.Name, "_", "")) ||
			(len(name) > 3 && (strings.Contains(s.Name, name) || strings.Contains(name, s.Name))) {
			return ": is " + s.Name + " meant?"
		}
	}
	return ""
}
