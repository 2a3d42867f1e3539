package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// GenericConfig describes a sender that has no function of its own.
//
// Values are written as a path in the event (data.object.id; * is every member), body:path
// in the whole body, header:Name, form:Field, or =literal. A question mark at the end: may
// be missing.
type GenericConfig struct {
	// Name is the event source.
	Name string
	// Key is what tells events apart. One value is taken for the sender's own ID; several are
	// put together and count as weaker. Without any the body's hash is the key, the weakest:
	// two honest events with equal content are one.
	Key []string
	// Items is where the events are in the body, such as "[]" or "data.events[]". Default:
	// the body is one.
	Items string
	// Type is the kind of event, its parts joined by dots.
	Type []string
	// ResourceType and ResourceID are the thing that the event is about.
	ResourceType string
	ResourceID   []string
	// OccurredAt is when it happened, in TimeUnit.
	OccurredAt string
	// Order is the hint at the order of events about one resource: a number if OrderUnit is
	// "sequence", else a time.
	Order     string
	OrderUnit string
	// TimeUnit is how times are written: "rfc3339" (default), "s", "ms" or "http".
	TimeUnit string
	// Attempt is the sender's count of its tries, which is FirstAttempt for the first.
	Attempt      string
	FirstAttempt int
	// Replay is "true" or "1" where a person asked the sender to send again.
	Replay string
	// Volatile are paths in the event whose values differ between two tries of one.
	Volatile []string

	// Secrets are the keys of the signature. Without any, Unsigned must be set.
	Secrets  []string
	Unsigned bool
	// Token compares the signature's header with the secrets, instead of an HMAC.
	Token bool
	// SignatureHeader holds the signature, after SignaturePrefix.
	SignatureHeader string
	SignaturePrefix string
	// Hash is "sha256" (default), "sha1" or "sha512"; Encoding is "hex" (default) or
	// "base64"; KeyEncoding is "text" (default), "hex" or "base64".
	Hash, Encoding, KeyEncoding string
	// Signed is what is signed, of {body}, {timestamp}, {url} and text. Default: "{body}".
	Signed string
	// URL is the public one, for {url}.
	URL string
	// TimestampHeader holds the time of the signature, in TimestampUnit ("s" by default).
	TimestampHeader string
	TimestampUnit   string
	// Tolerance is how far that time may be from now. Default: 5 minutes.
	Tolerance time.Duration

	// Success is the status for settled events, default 200; Stop the one for events that
	// failed for good, if the sender knows one.
	Success, Stop int
	// Patience is how long the sender waits. Default: 10 s.
	Patience time.Duration
	// NeverRepeats is set for senders that do not repeat by themselves.
	NeverRepeats bool
}

// Generic is any other sender.
func Generic(cfg GenericConfig) *Provider {
	verify := byRecipe
	if cfg.Unsigned {
		verify = nil
	}
	p := ofRecipe(cfg.recipe(), credentials{cfg.Secrets, cfg.URL}, verify)
	if err := cfg.check(); err != nil {
		p.fail(err)
	}
	return p
}

func (c *GenericConfig) recipe() *recipe {
	repeats := !c.NeverRepeats
	unit := cmp.Or(c.TimeUnit, unitRFC3339)
	r := &recipe{
		Name: c.Name, Title: c.Name,
		Answer:   answerFacts{Success: cmp.Or(c.Success, 200), Stop: c.Stop},
		Delivery: delivery{Patience: int(c.Patience.Milliseconds()), Automatic: &repeats},
	}
	r.Identity = identity{Items: c.Items, Replay: c.Replay, Volatile: c.Volatile, HashKey: len(c.Key) == 0}
	if len(c.Key) > 0 {
		k := keyRecipe{Of: c.Key, Quality: "PROVIDER_ID"}
		if len(c.Key) > 1 {
			k.Quality = "COMPOSITE"
		}
		r.Identity.Key = []keyRecipe{k}
	}
	if len(c.Type) > 0 {
		r.Identity.Type = [][]string{c.Type}
	}
	if len(c.ResourceID) > 0 {
		r.Identity.Resource = []resourceRule{{Type: c.ResourceType, ID: c.ResourceID}}
	}
	if c.OccurredAt != "" {
		r.Identity.OccurredAt = []timeRule{{Of: c.OccurredAt, Unit: unit}}
	}
	if c.Order != "" {
		r.Identity.Order = []timeRule{{Of: c.Order, Unit: cmp.Or(c.OrderUnit, unit)}}
	}
	if c.Attempt != "" {
		r.Identity.Attempt = &countRule{Of: c.Attempt, First: c.FirstAttempt}
	}
	r.Authenticity = authenticity{
		Scheme: "hmac", Hash: cmp.Or(c.Hash, "sha256"), Headers: []string{c.SignatureHeader}, Prefix: c.SignaturePrefix,
		Encoding: cmp.Or(c.Encoding, "hex"), Key: cmp.Or(c.KeyEncoding, "text"), Signed: cmp.Or(c.Signed, "{body}"),
		Timestamp: c.TimestampHeader, Unit: cmp.Or(c.TimestampUnit, unitSeconds),
		Tolerance: int(cmp.Or(c.Tolerance, 5*time.Minute).Seconds()),
	}
	if c.Token {
		r.Authenticity.Scheme = "token"
	}
	return r
}

// check refuses what would be found out at the first delivery only, or never.
func (c *GenericConfig) check() error {
	var errs []error
	if !fits(c.Name) {
		errs = append(errs, fmt.Errorf("the name %q must be 1 to %d bytes of text", c.Name, maxPart))
	}
	if c.Unsigned && len(c.Secrets) > 0 {
		errs = append(errs, errors.New("it has secrets and is unsigned: one of the two"))
	}
	if !c.Unsigned && c.SignatureHeader == "" {
		errs = append(errs, errors.New("the header of the signature is missing"))
	}
	if len(c.ResourceID) > 0 && c.ResourceType == "" {
		errs = append(errs, errors.New("the resource has an ID and no type"))
	}
	if c.Order != "" && len(c.ResourceID) == 0 {
		errs = append(errs, errors.New("there is an order and no resource that it is about"))
	}
	for _, x := range []struct {
		what, value string
		of          []string
	}{
		{"the unit of times", c.TimeUnit, []string{"", unitRFC3339, unitSeconds, unitMillis, unitHTTP}},
		{"the unit of the order", c.OrderUnit, []string{"", unitSequence, unitRFC3339, unitSeconds, unitMillis, unitHTTP}},
		{"the unit of the signature's time", c.TimestampUnit, []string{"", unitRFC3339, unitSeconds, unitMillis, unitHTTP}},
		{"the encoding", c.Encoding, []string{"", "hex", "base64"}},
		{"the encoding of secrets", c.KeyEncoding, []string{"", "text", "hex", "base64"}},
	} {
		if !slices.Contains(x.of, x.value) {
			errs = append(errs, fmt.Errorf("%s is %q and must be one of %q", x.what, x.value, x.of[1:]))
		}
	}
	if c.Success != 0 && (c.Success < 200 || c.Success > 299) {
		errs = append(errs, fmt.Errorf("%d is no status for success: it must be 200 to 299", c.Success))
	}
	if c.Stop != 0 && (c.Stop < 200 || c.Stop > 599) {
		errs = append(errs, fmt.Errorf("%d is no status to answer with", c.Stop))
	}
	for _, expr := range slices.Concat(c.Key, []string{"header:" + cmp.Or(c.SignatureHeader, "X"), "header:" + cmp.Or(c.TimestampHeader, "X")}) {
		name, is := strings.CutPrefix(strings.TrimSuffix(expr, "?"), "header:")
		if is && !strings.HasPrefix(name, "body:") && !headerName.MatchString(name) {
			errs = append(errs, fmt.Errorf("%q is no name of a header", name))
		}
	}
	if len(c.Key) > 0 && !slices.ContainsFunc(c.Key, func(expr string) bool { return !strings.HasPrefix(expr, "=") && !strings.HasSuffix(expr, "?") }) {
		errs = append(errs, fmt.Errorf("the key %q has no part that every event must have", c.Key))
	}
	if !c.Unsigned && !c.Token {
		errs = append(errs, c.checkSigned())
	}
	return errors.Join(errs...)
}

var headerName = regexp.MustCompile("^[-!#$%&'*+.^_`|~0-9A-Za-z]+$") // RFC 9110, 5.1

// checkSigned refuses a template that leaves the body unsigned, or that nobody fills in.
func (c *GenericConfig) checkSigned() error {
	signed := template(cmp.Or(c.Signed, "{body}"))
	var errs []error
	for _, part := range signed {
		if strings.HasPrefix(part, "{") && !slices.Contains([]string{"{body}", "{timestamp}", "{url}"}, part) {
			errs = append(errs, fmt.Errorf("what is signed, %q, has %q: there are {body}, {timestamp} and {url}", c.Signed, part))
		}
	}
	if !slices.Contains(signed, "{body}") {
		errs = append(errs, fmt.Errorf("what is signed, %q, must have {body}: anybody could send another", c.Signed))
	}
	if at := slices.Contains(signed, "{timestamp}"); at && c.TimestampHeader == "" {
		errs = append(errs, fmt.Errorf("what is signed, %q, has a {timestamp}, and no header is named that holds it", c.Signed))
	} else if !at && c.TimestampHeader != "" && !strings.HasPrefix(c.TimestampHeader, "body:") {
		errs = append(errs, fmt.Errorf("what is signed, %q, lacks the {timestamp} of the header %q: anybody could change it", c.Signed, c.TimestampHeader))
	}
	if slices.Contains(signed, "{url}") && c.URL == "" {
		errs = append(errs, fmt.Errorf("what is signed, %q, has a {url}, and none is given", c.Signed))
	}
	return errors.Join(errs...)
}
