package policyfile

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/idemsvc/idemsvc/idem"
)

// Write writes policies so that [Read] gives the same ones. Settings stand in the order of
// the documentation.
func Write(w io.Writer, f *File) error {
	doc := mapping()
	if f.Namespace != "" {
		put(doc, "namespace", scalar(f.Namespace))
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	if len(f.Rules) == 0 {
		list.Style = yaml.FlowStyle
	}
	for i := range f.Rules {
		n, err := policy(&f.Rules[i])
		if err != nil {
			return err
		}
		list.Content = append(list.Content, n)
	}
	put(doc, "policies", list)
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(doc); err != nil {
		return err
	}
	_, err := w.Write(out.Bytes())
	return err
}

func policy(r *idem.Rule) (*yaml.Node, error) {
	n := mapping()
	match := mapping()
	match.Style = yaml.FlowStyle
	for _, p := range []struct{ name, value string }{{"consumer", r.Consumer}, {"source", r.Source}, {"type", r.Type}} {
		if p.value != "" {
			put(match, p.name, scalar(p.value))
		}
	}
	if len(match.Content) > 0 {
		put(n, "match", match)
	}
	for _, s := range idem.Settings {
		text, ok := r.Set[s.Name]
		switch {
		case !ok:
		case s.Kind == idem.Names || s.Kind == idem.Machines:
			var v any
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				return nil, err
			}
			put(n, s.Name, node(v))
		default:
			put(n, s.Name, &yaml.Node{Kind: yaml.ScalarNode, Value: text})
		}
	}
	return n, nil
}

// node is a value of texts, lists and mappings.
func node(v any) *yaml.Node {
	switch v := v.(type) {
	case string:
		return scalar(v)
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, x := range v {
			n.Content = append(n.Content, node(x))
		}
		return n
	default:
		m, _ := v.(map[string]any)
		n := mapping()
		if len(m) == 0 {
			n.Style = yaml.FlowStyle
		}
		for _, name := range slices.Sorted(maps.Keys(m)) {
			n.Content = append(n.Content, scalar(name), node(m[name]))
		}
		return n
	}
}

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode} }

// scalar is a text that stays one, whatever it looks like.
func scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

func put(m *yaml.Node, name string, v *yaml.Node) {
	m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, v)
}
