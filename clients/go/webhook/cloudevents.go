package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
)

// CloudEvents are events over HTTP in structured, binary or batch mode. Nothing is signed:
// wrap the [Handler] in whatever protects the endpoint. What it is given counts as not
// checked.
func CloudEvents() *Provider { return CloudEventsFrom(CloudEventsConfig{}) }

// CloudEventsConfig says who may send CloudEvents.
type CloudEventsConfig struct {
	// Tokens are bearer tokens, one of which must stand in the header Authorization: several
	// while they change. What comes with one counts as verified. Without any, nothing is
	// checked.
	Tokens []string
	// Origins are the senders that are let in when they ask before they deliver, by an OPTIONS
	// request with the header WebHook-Request-Origin; "*" is everybody. Others are answered 403.
	// Without any, nobody is asked for.
	Origins []string
}

// CloudEventsFrom is [CloudEvents] from those who have a token, or have asked before.
func CloudEventsFrom(cfg CloudEventsConfig) *Provider {
	verify := scheme(nil)
	if len(cfg.Tokens) > 0 {
		verify = cloudTokens
	}
	p := provider("cloudevents", credentials{secrets: cfg.Tokens}, verify)
	p.extract = cloudEvents
	if len(cfg.Origins) > 0 {
		p.greet = func(r *Request) *greeting { return cloudHandshake(r, cfg.Origins) }
	}
	return p
}

// cloudTokens checks the bearer token of a delivery.
func cloudTokens(_ *authenticity, c credentials) (verification, error) {
	return tokenScheme(&authenticity{Headers: []string{"Authorization"}, Prefix: bearerPrefix}, c)
}

const bearerPrefix = "Bearer "

// cloudHandshake answers a sender that asks before it delivers. That it wants to be called
// back is not heard: anybody could make this process call anybody.
func cloudHandshake(r *Request, origins []string) *greeting {
	if r.Method != http.MethodOptions {
		return nil
	}
	origin := r.Header.Get("WebHook-Request-Origin")
	if origin == "" || !slices.Contains(origins, "*") && !slices.ContainsFunc(origins, func(o string) bool { return strings.EqualFold(o, origin) }) {
		return &greeting{status: http.StatusForbidden}
	}
	return &greeting{status: http.StatusOK, header: map[string]string{
		"Allow": http.MethodPost, "WebHook-Allowed-Origin": origin, "WebHook-Allowed-Rate": "*",
	}}
}

const (
	cloudStructured = "application/cloudevents+json"
	cloudBatch      = "application/cloudevents-batch+json"
)

// cloudAttributes are what is read of an event, in the order of their slots.
var cloudAttributes = []string{"id", "source", "type", "subject", "time", "sequence"}

var cloudPaths = func() *node {
	n := newNode()
	for i, a := range cloudAttributes {
		n.at([]string{a}).slot = i
	}
	return n
}()

func cloudEvents(r *Request) ([]*Item, error) {
	switch mediaType(r.Header.Get("Content-Type")) {
	case cloudStructured:
		i, err := cloudItem(r, r.Body)
		if err != nil {
			return nil, err
		}
		return []*Item{i}, nil
	case cloudBatch:
		if body := r.Body[space(r.Body, 0):]; len(body) == 0 || body[0] != '[' {
			return nil, errors.New("the batch is no array")
		}
		var items []*Item
		err := each(r.Body, []string{"[]"}, func(raw []byte) error {
			i, err := cloudItem(r, raw)
			if err != nil {
				return fmt.Errorf("event %d of the request: %w", len(items)+1, err)
			}
			items = append(items, i)
			return nil
		})
		return items, err
	}
	if r.Header.Get("Ce-Specversion") == "" {
		return nil, errors.New("the request is no CloudEvent: it has neither its media type nor its headers")
	}
	i, err := cloudOf(func(slot int) string { return cloudHeader(r.Header, cloudAttributes[slot]) })
	if err != nil {
		return nil, err
	}
	i.Body, i.Header, i.ContentType = r.Body, r.Header, r.Header.Get("Content-Type")
	return []*Item{i}, nil
}

// cloudHeader is an attribute in binary mode, where what is not ASCII is escaped.
func cloudHeader(h http.Header, attribute string) string {
	s := h.Get("Ce-" + attribute)
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

func cloudItem(r *Request, raw []byte) (*Item, error) {
	found := make([]span, len(cloudAttributes))
	if err := scan(raw, cloudPaths, found); err != nil {
		return nil, err
	}
	i, err := cloudOf(func(slot int) string {
		s, _ := text(raw[found[slot].from:found[slot].to])
		return s
	})
	if err != nil {
		return nil, err
	}
	i.Body, i.Header, i.ContentType = raw, r.Header, cloudStructured
	return i, nil
}

// cloudOf is the event of the attributes.
func cloudOf(attribute func(slot int) string) (*Item, error) {
	id, source, subject := attribute(0), attribute(1), attribute(3)
	if strings.TrimSpace(id) == "" || strings.TrimSpace(source) == "" {
		return nil, fmt.Errorf("%w: a CloudEvent is named by source and id", errNoKey)
	}
	i := &Item{ID: storableKey(joined([]string{source, id})), Quality: ProviderID, Type: attribute(2)}
	i.OccurredAt, _ = instant(attribute(4), unitRFC3339)
	if strings.TrimSpace(subject) != "" && fits(source) {
		i.Resource = &idemsvc.Resource{Type: source, Id: storableKey(subject)}
		if n, err := strconv.ParseInt(attribute(5), 10, 64); err == nil {
			i.Version = idemsvc.Sequence(n)
		}
	}
	return i, nil
}
