package webhook

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// Provider is one sender: how it signs, how its events are told apart, what it wants to be
// answered. Make one by the function of its name, such as [Stripe]; [Generic] describes
// others. A mistake in what it is given is told by [New].
type Provider struct {
	recipe  *recipe
	source  string
	creds   credentials
	verify  verification // nil: nothing is signed
	extract func(*Request) ([]*Item, error)
	headers []string // worth keeping
	greet   func(*Request) *greeting
	tokens  *tokens // of a scheme that signs no event, which are good for one each
	err     error
}

// credentials are what a provider and its receiver share.
type credentials struct {
	secrets []string
	url     string // that the provider was given, for those that sign it
}

// greeting answers a request that is no delivery.
type greeting struct {
	signed bool // it is only for those who can sign
	status int
	body   string
	header map[string]string
}

// Name is the provider's, such as "stripe".
func (p *Provider) Name() string { return p.recipe.Name }

// Source is the event source that its events have: its name, unless [Provider.As] gave it
// another.
func (p *Provider) Source() string { return p.source }

// As is the provider under another event source, for a second account whose IDs are its
// own, or an environment.
func (p *Provider) As(source string) *Provider {
	q := *p
	q.source = source
	return &q
}

// Check verifies a request as [Handler] does: nil for one that is genuine, [Forged] for
// one that is not, any other error where nobody can tell now. Age does not matter.
func (p *Provider) Check(ctx context.Context, r *Request) error {
	_, err := p.verified(ctx, r)
	return err
}

// Items are the events in a request, which must be genuine; see [Provider.Check].
func (p *Provider) Items(r *Request) ([]*Item, error) {
	if p.err != nil {
		return nil, p.err
	}
	return p.extract(r)
}

// scheme is a way to verify; nil where nothing is signed.
type scheme func(*authenticity, credentials) (verification, error)

// provider makes one of a recipe.
func provider(name string, c credentials, verify scheme) *Provider {
	r, err := recipeOf(name)
	if err != nil {
		return &Provider{recipe: &recipe{Name: name}, source: name, err: err}
	}
	return ofRecipe(r, c, verify)
}

func ofRecipe(r *recipe, c credentials, verify scheme) *Provider {
	p := &Provider{recipe: r, source: r.Name, creds: c}
	if r.Identity.Code == "" {
		x, err := compile(&r.Identity)
		if err != nil {
			p.fail(err)
			return p
		}
		p.extract, p.headers = x.extract, x.headers
	}
	if verify != nil {
		v, err := verify(&r.Authenticity, c)
		if err != nil {
			p.fail(err)
		}
		p.verify = v
	}
	return p
}

func (p *Provider) fail(err error) { p.err = fmt.Errorf("webhook: %s: %w", p.recipe.Name, err) }

// byRecipe is for providers whose recipe says how they sign.
func byRecipe(a *authenticity, c credentials) (verification, error) {
	switch a.Scheme {
	case "hmac":
		return hmacScheme(a, c)
	case "token":
		return tokenScheme(a, c)
	case "ecdsa-p256":
		return ecdsaScheme(a, c)
	case "standard-webhooks":
		return standardScheme(a, c)
	default:
		return nil, fmt.Errorf("there is no scheme %q", a.Scheme)
	}
}

// verified checks a request, and is when it was signed.
func (p *Provider) verified(ctx context.Context, r *Request) (time.Time, error) {
	if p.err != nil {
		return time.Time{}, p.err
	}
	if p.verify == nil {
		return time.Time{}, nil
	}
	at, err := p.verify(ctx, r)
	if err != nil {
		return time.Time{}, err
	}
	path, ok := strings.CutPrefix(p.recipe.Authenticity.Timestamp, "body:")
	if !ok {
		return at, nil
	}
	s, err := lookup(r.Body, path)
	if err != nil {
		return time.Time{}, err
	}
	return p.recipe.Authenticity.time(s)
}

// lookup is one value of a body; empty if it is not there.
func lookup(body []byte, path string) (string, error) {
	n := newNode()
	n.at(strings.Split(path, ".")).slot = 0
	var found [1]span
	if err := scan(body, n, found[:]); err != nil {
		return "", err
	}
	s, _ := text(body[found[0].from:found[0].to])
	return s, nil
}

// signature is the verdict on a genuine request: late is one whose time is further from
// now than tolerated, in either direction. It is kept, because a provider may repeat what
// it has signed once after an outage of days, and the record of what was processed stops
// replays.
func (p *Provider) signature(signedAt, now time.Time, tolerance time.Duration) pb.SignatureStatus {
	switch {
	case p.verify == nil:
		return pb.SignatureStatus_SIGNATURE_STATUS_NOT_CHECKED
	case !signedAt.IsZero() && tolerance > 0 && now.Sub(signedAt).Abs() > tolerance:
		return pb.SignatureStatus_SIGNATURE_STATUS_VERIFIED_LATE
	default:
		return pb.SignatureStatus_SIGNATURE_STATUS_VERIFIED
	}
}

// publicURL checks the URL that a provider was given, which some of them sign.
func publicURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("%q is not the full URL that the provider was given", s)
	}
	return u, nil
}

// Err is what is wrong with what the provider was made of, as [New] would tell it.
func (p *Provider) Err() error { return p.err }
