package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// errNoKey is why a genuine request is refused: without a key nobody can tell whether it
// has been processed. A hash of the body would not do, because for most providers that
// differs from try to try.
var errNoKey = errors.New("the event has no ID")

// maxAttempts is the highest number of a try that the contract takes.
const maxAttempts = 1000000

// extractor finds the events of a request by a recipe.
type extractor struct {
	*paths
	items    []string // steps to the events; "[]" is every element
	keys     []key
	hashKey  bool
	types    [][]value
	resource []resourceValues
	occurred []timeValue
	order    []timeValue
	attempt  *value
	first    int
	replay   *value
	volatile []int // slots
}

type key struct {
	parts   []value
	quality Quality
}

type resourceValues struct {
	kind value
	id   []value
}

type timeValue struct {
	value
	unit  string
	ranks map[string]int64
}

const unitSequence = "sequence"

// compile turns a recipe into an extractor.
func compile(id *identity) (*extractor, error) {
	x := &extractor{paths: newPaths(), hashKey: id.HashKey}
	if id.Items != "" {
		x.items = strings.Split(strings.ReplaceAll(id.Items, "[]", ".[]"), ".")
		x.items = slices.DeleteFunc(x.items, func(s string) bool { return s == "" })
	}
	var errs []error
	one := func(expr string) value {
		v, err := x.value(expr)
		errs = append(errs, err)
		return v
	}
	many := func(exprs []string) []value {
		v, err := x.values(exprs)
		errs = append(errs, err)
		return v
	}
	for _, k := range id.Key {
		q, ok := pb.KeyQuality_value["KEY_QUALITY_"+k.Quality]
		if !ok || len(k.Of) == 0 {
			errs = append(errs, fmt.Errorf("the key %v has the quality %q", k.Of, k.Quality))
		}
		x.keys = append(x.keys, key{parts: many(k.Of), quality: Quality(q)})
	}
	for _, t := range id.Type {
		x.types = append(x.types, many(t))
	}
	for _, r := range id.Resource {
		x.resource = append(x.resource, resourceValues{kind: one(r.Type), id: many(r.ID)})
	}
	for _, t := range id.OccurredAt {
		x.occurred = append(x.occurred, timeValue{value: one(t.Of), unit: t.Unit})
	}
	for _, t := range id.Order {
		x.order = append(x.order, timeValue{value: one(t.Of), unit: t.Unit, ranks: t.Ranks})
	}
	if id.Attempt != nil {
		v := one(id.Attempt.Of)
		x.attempt, x.first = &v, id.Attempt.First
	}
	if id.Replay != "" {
		v := one(id.Replay)
		x.replay = &v
	}
	for _, path := range id.Volatile {
		v := one(path)
		if v.from != fromItem || v.optional {
			errs = append(errs, fmt.Errorf("what differs between tries must be a path in the event, not %q", path))
		}
		x.volatile = append(x.volatile, v.slot)
	}
	return x, errors.Join(errs...)
}

// extract finds the events of a request. A request without any, such as an empty array,
// is no error.
func (x *extractor) extract(r *Request) ([]*Item, error) {
	v := view{body: r.Body, header: r.Header}
	if m := mediaType(r.Header.Get("Content-Type")); x.forms && (m == "" || m == formType) {
		form, err := url.ParseQuery(string(r.Body))
		if err != nil {
			return nil, fmt.Errorf("the body is no form: %w", err)
		}
		v.form = form
	}
	found := make([]span, x.slots)
	if !x.body.leaf() {
		if err := scan(r.Body, x.body, found); err != nil {
			return nil, err
		}
	}
	var items []*Item
	err := each(r.Body, x.items, func(raw []byte) error {
		v.item, v.found = raw, found
		if len(x.items) > 0 {
			v.found = slices.Clone(found) // an item must not see another's values
		}
		if !x.item.leaf() {
			if err := scan(raw, x.item, v.found); err != nil {
				return err
			}
		}
		item, err := x.item1(&v)
		if err != nil {
			return fmt.Errorf("event %d of the request: %w", len(items)+1, err)
		}
		item.ContentType = r.Header.Get("Content-Type")
		items = append(items, item)
		return nil
	})
	return items, err
}

// item1 reads one event.
func (x *extractor) item1(v *view) (*Item, error) {
	i := &Item{Body: v.item, Header: v.header}
	for _, k := range x.keys {
		if id, ok := v.one(k.parts, joined); ok {
			i.ID, i.Quality = storableKey(id), k.quality
			break
		}
	}
	if len(x.volatile) > 0 {
		i.Fingerprint = x.fingerprint(v)
	}
	switch {
	case i.ID == "" && x.hashKey:
		i.ID, i.Quality = hashed+hex.EncodeToString(x.fingerprint(v)), PayloadHash
	case i.ID == "":
		return nil, errNoKey
	}
	for _, t := range x.types {
		if kind, ok := v.one(t, dotted); ok {
			i.Type = kind
			break
		}
	}
	i.Resource = x.resourceOf(v)
	for _, t := range x.occurred {
		if s, ok := v.get(t.value); ok {
			if at, ok := instant(s, t.unit); ok {
				i.OccurredAt = at
				break
			}
		}
	}
	if i.Resource != nil {
		i.Version = x.version(v)
	}
	if x.attempt != nil {
		if s, ok := v.get(*x.attempt); ok {
			i.Attempt = attempt(s, x.first)
		} else if x.first == 0 && x.attempt.from == fromHeader {
			i.Attempt = 1 // the header comes with retries only
		}
	}
	if x.replay != nil {
		s, _ := v.get(*x.replay)
		i.Replay, _ = strconv.ParseBool(s)
	}
	return i, nil
}

// dotted joins what is not empty by dots.
func dotted(parts []string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ".")
}

func attempt(s string, first int) int {
	n, err := strconv.Atoi(s)
	if n = n - first + 1; err != nil || n < 1 || n > maxAttempts {
		return 0
	}
	return n
}

func (x *extractor) resourceOf(v *view) *idemsvc.Resource {
	for _, r := range x.resource {
		id, ok := v.one(r.id, joined)
		kind, known := v.get(r.kind)
		if !ok || !known || !fits(kind) {
			continue
		}
		return &idemsvc.Resource{Type: kind, Id: storableKey(id)}
	}
	return nil
}

// version is the hint at the order. Of one provider's alternatives all are of one kind,
// because a resource's first version decides the kind of all.
func (x *extractor) version(v *view) *idemsvc.Version {
	for _, o := range x.order {
		s, ok := v.get(o.value)
		if !ok {
			continue
		}
		switch {
		case o.ranks != nil:
			if rank, ok := o.ranks[s]; ok {
				return idemsvc.Sequence(rank)
			}
		case o.unit == unitSequence:
			if n, err := strconv.ParseInt(s, 10, 64); err == nil {
				return idemsvc.Sequence(n)
			}
		default:
			if at, ok := instant(s, o.unit); ok {
				return &idemsvc.Version{Value: &pb.Version_Instant{Instant: timestamp(at)}}
			}
		}
	}
	return nil
}

// fingerprint is the hash of the item without its volatile values. Spans do not overlap
// unless a recipe names a path inside another one.
func (x *extractor) fingerprint(v *view) []byte {
	cuts := make([]span, 0, len(x.volatile))
	for _, slot := range x.volatile {
		if s := v.found[slot]; s.to > s.from {
			cuts = append(cuts, s)
		}
	}
	slices.SortFunc(cuts, func(a, b span) int { return a.from - b.from })
	h := sha256.New()
	at := 0
	for _, c := range cuts {
		if c.from < at {
			continue
		}
		h.Write(v.item[at:c.from])
		at = c.to
	}
	h.Write(v.item[at:])
	return h.Sum(nil)
}

// each calls f with every event of a body. What is no array where one is expected is a
// single event: some providers send both.
func each(b []byte, steps []string, f func([]byte) error) error {
	if len(steps) == 0 {
		return f(b)
	}
	if steps[0] != "[]" {
		n := newNode()
		n.at(steps[:1]).slot = 0
		var found [1]span
		if err := scan(b, n, found[:]); err != nil {
			return err
		}
		if found[0].to == 0 {
			return fmt.Errorf("the body has no field %s", steps[0])
		}
		return each(b[found[0].from:found[0].to], steps[1:], f)
	}
	b = b[space(b, 0):]
	if len(b) == 0 {
		return errNotJSON
	}
	if b[0] != '[' {
		return each(b, steps[1:], f)
	}
	end, err := skip(b, 0)
	if err != nil {
		return err
	}
	if space(b, end) != len(b) {
		return errNotJSON
	}
	return elements(b, func(e []byte) error { return each(e, steps[1:], f) })
}

const formType = "application/x-www-form-urlencoded"

// mediaType is the media type without its parameters.
func mediaType(contentType string) string {
	m, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return ""
	}
	return m
}
