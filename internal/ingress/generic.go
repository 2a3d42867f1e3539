package ingress

import (
	"go.yaml.in/yaml/v3"

	"github.com/idemsvc/idemsvc/clients/go/webhook"
)

// maxPaths is how many parts a key or a type may have.
const maxPaths = 16

// generic reads how a sender signs and names its events; see [webhook.GenericConfig].
func (p *parser) generic(g *webhook.GenericConfig, n *yaml.Node) {
	text := func(name string, to *string) func(*yaml.Node) {
		return func(n *yaml.Node) { *to = p.text(name, n) }
	}
	texts := func(name string, to *[]string) func(*yaml.Node) {
		return func(n *yaml.Node) { *to = p.texts(name, n, maxPaths) }
	}
	number := func(name string, to *int) func(*yaml.Node) {
		return func(n *yaml.Node) { *to = p.number(name, n, 1000) }
	}
	flag := func(name string, to *bool) func(*yaml.Node) {
		return func(n *yaml.Node) { *to = p.flag(name, n) }
	}
	p.fields(n, "generic", map[string]func(*yaml.Node){
		"key":              texts("key", &g.Key),
		"items":            text("items", &g.Items),
		"type":             texts("type", &g.Type),
		"resource_type":    text("resource_type", &g.ResourceType),
		"resource_id":      texts("resource_id", &g.ResourceID),
		"occurred_at":      text("occurred_at", &g.OccurredAt),
		"order":            text("order", &g.Order),
		"order_unit":       text("order_unit", &g.OrderUnit),
		"time_unit":        text("time_unit", &g.TimeUnit),
		"attempt":          text("attempt", &g.Attempt),
		"first_attempt":    number("first_attempt", &g.FirstAttempt),
		"replay":           text("replay", &g.Replay),
		"volatile":         texts("volatile", &g.Volatile),
		"token":            flag("token", &g.Token),
		"signature_header": text("signature_header", &g.SignatureHeader),
		"signature_prefix": text("signature_prefix", &g.SignaturePrefix),
		"hash":             text("hash", &g.Hash),
		"encoding":         text("encoding", &g.Encoding),
		"key_encoding":     text("key_encoding", &g.KeyEncoding),
		"signed":           text("signed", &g.Signed),
		"timestamp_header": text("timestamp_header", &g.TimestampHeader),
		"timestamp_unit":   text("timestamp_unit", &g.TimestampUnit),
		"success":          number("success", &g.Success),
		"patience":         func(n *yaml.Node) { g.Patience = p.duration("patience", n) },
		"never_repeats":    flag("never_repeats", &g.NeverRepeats),
	})
}
