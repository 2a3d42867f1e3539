package webhook

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Where a value comes from.
type origin int

const (
	fromItem origin = iota
	fromBody
	fromHeader
	fromForm
	literal
)

// value is a compiled expression of a recipe.
type value struct {
	from     origin
	name     string // of a header or form field, or the literal itself
	slot     int    // of a path
	optional bool
}

// paths compiles expressions against the paths of an item and of the whole body.
type paths struct {
	item, body *node
	slots      int      // of both together
	headers    []string // that are looked at
	forms      bool     // whether form fields are looked at
}

func newPaths() *paths { return &paths{item: newNode(), body: newNode()} }

// value compiles one expression.
func (p *paths) value(expr string) (value, error) {
	rest, optional := strings.CutSuffix(expr, "?")
	v := value{optional: optional}
	root := p.item
	switch {
	case strings.HasPrefix(rest, "="):
		v.from, v.name = literal, rest[1:]
		return v, nil
	case strings.HasPrefix(rest, "header:"):
		v.from, v.name = fromHeader, http.CanonicalHeaderKey(rest[len("header:"):])
		p.headers = append(p.headers, v.name)
		return v, nil
	case strings.HasPrefix(rest, "form:"):
		v.from, v.name = fromForm, rest[len("form:"):]
		p.forms = true
		return v, nil
	case strings.HasPrefix(rest, "body:"):
		v.from, rest, root = fromBody, rest[len("body:"):], p.body
	}
	steps := strings.Split(rest, ".")
	if slices.Contains(steps, "") {
		return v, fmt.Errorf("the path %q has an empty step", expr)
	}
	n := root.at(steps)
	if n.slot < 0 {
		n.slot = p.slots
		p.slots++
	}
	v.slot = n.slot
	return v, nil
}

func (p *paths) values(exprs []string) ([]value, error) {
	out := make([]value, 0, len(exprs))
	for _, e := range exprs {
		v, err := p.value(e)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// view is what values are read from: an item, its request, and where the paths led.
type view struct {
	item, body []byte
	found      []span
	header     http.Header
	form       url.Values
}

// get is a value as text; false if it is not there.
func (v *view) get(x value) (string, bool) {
	switch x.from {
	case literal:
		return x.name, true
	case fromHeader:
		s := v.header[x.name]
		if len(s) == 0 {
			return "", false
		}
		return s[0], true
	case fromForm:
		s := v.form[x.name]
		if len(s) == 0 {
			return "", false
		}
		return s[0], true
	case fromBody:
		return text(v.body[v.found[x.slot].from:v.found[x.slot].to])
	default:
		return text(v.item[v.found[x.slot].from:v.found[x.slot].to])
	}
}

// one is the values as one text, several by how; false if one that must be there is not,
// or is blank.
func (v *view) one(xs []value, how func([]string) string) (string, bool) {
	if len(xs) == 1 {
		s, ok := v.get(xs[0])
		return s, ok && strings.TrimSpace(s) != ""
	}
	parts, ok := v.all(xs)
	if !ok {
		return "", false
	}
	return how(parts), true
}

// all is the values as text; false if one that must be there is not, or is blank, or if all
// that are no literals are.
func (v *view) all(xs []value) ([]string, bool) {
	out := make([]string, 0, len(xs))
	said := false
	for _, x := range xs {
		s, ok := v.get(x)
		blank := !ok || strings.TrimSpace(s) == ""
		if !x.optional && blank {
			return nil, false
		}
		said = said || x.from != literal && !blank
		out = append(out, s)
	}
	return out, said
}
