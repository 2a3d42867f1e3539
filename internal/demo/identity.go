package demo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Where providers put the ID and the kind of an event. Names of one attempt to deliver,
// or of a subscription, are not among them: they are no identity. The first that is
// there counts.
var (
	idHeaders = []string{
		"webhook-id", "svix-id", "x-github-delivery", "x-shopify-event-id", "x-shopify-webhook-id",
		"idempotency-key", "x-gitlab-event-uuid", "x-request-uuid",
	}
	idFields    = []string{"event_id", "sg_event_id", "eventId", "id"}
	typeHeaders = []string{"x-github-event", "x-shopify-topic", "x-gitlab-event", "x-event-key"}
	typeFields  = []string{"event_type", "eventType", "type", "event", "topic", "object_kind", "eventCode"}
)

// maxID is the service's limit of a part of a key, less what a further event adds.
const maxID = 512 - 16

// parse finds the payloads in a file.
func parse(text []byte) ([]Payload, error) {
	var all json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		if se, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, fmt.Errorf("is no JSON: byte %d: %w", se.Offset, err)
		}
		return nil, fmt.Errorf("is no JSON: %w", err)
	}
	items := []json.RawMessage{all}
	if isList(all) {
		if err := json.Unmarshal(all, &items); err != nil {
			return nil, err
		}
	}
	var out []Payload
	for _, item := range items {
		if fields := fieldsOf(item); fields != nil {
			out = append(out, payloadOf(item, fields))
		}
	}
	if len(out) == 0 {
		return nil, errors.New("holds neither an object nor a list of objects")
	}
	return out, nil
}

func isList(text []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) }

// fieldsOf are the fields of an object, nil for anything else.
func fieldsOf(text []byte) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return nil
	}
	return fields
}

// payloadOf finds out what an object says about itself. One with headers and a body is a
// delivery as it was captured.
func payloadOf(text []byte, fields map[string]json.RawMessage) Payload {
	headers := map[string]json.RawMessage{}
	for name, value := range fieldsOf(fields["headers"]) {
		headers[strings.ToLower(name)] = value
	}
	body := fields["body"]
	if inner := fieldsOf(body); len(headers) > 0 && (inner != nil || isList(body)) {
		text, fields = body, inner
	}
	return Payload{
		ID:   first(headers, idHeaders, first(fields, idFields, "")),
		Type: first(headers, typeHeaders, first(fields, typeFields, "")),
		Body: bytes.TrimSpace(text),
	}
}

// first is the first of the names that has a usable text or number. Numbers keep all
// their digits.
func first(values map[string]json.RawMessage, names []string, otherwise string) string {
	for _, name := range names {
		var number json.Number
		var text string
		if json.Unmarshal(values[name], &text) != nil && json.Unmarshal(values[name], &number) == nil {
			text = number.String()
		}
		if strings.TrimSpace(text) != "" && len(text) <= maxID && !strings.Contains(text, "\x00") {
			return text
		}
	}
	return otherwise
}

// identify gives every payload an ID of its own and drops those that are there twice.
func identify(list []Payload) []Payload {
	type name struct{ source, id string }
	bodies := map[name]map[[sha256.Size]byte]bool{}
	for _, p := range list {
		n := name{p.Source, p.ID}
		if bodies[n] == nil {
			bodies[n] = map[[sha256.Size]byte]bool{}
		}
		bodies[n][sha256.Sum256(p.Body)] = true
	}
	out, seen := list[:0], map[name]bool{}
	for _, p := range list {
		if n := (name{p.Source, p.ID}); p.ID == "" || len(bodies[n]) > 1 {
			p.ID = hashed(p.Body)
		}
		if n := (name{p.Source, p.ID}); !seen[n] {
			seen[n] = true
			out = append(out, p)
		}
	}
	return out
}

func hashed(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// part is a text that the service takes as a part of a key.
func part(text string) string {
	if len(text) > maxID {
		return hashed([]byte(text))
	}
	return text
}
