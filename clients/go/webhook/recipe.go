package webhook

import (
	_ "embed" // the recipes
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

// recipes is the table of providers, for clients of every language.
//
//go:embed providers.json
var recipes []byte

// recipe is how one provider names, signs, orders and repeats what it sends.
type recipe struct {
	Name         string       `json:"name"`
	Title        string       `json:"title"`
	Like         string       `json:"like"` // the recipe that holds for all that is not said
	Identity     identity     `json:"identity"`
	Authenticity authenticity `json:"authenticity"`
	Answer       answerFacts  `json:"answer"`
	Delivery     delivery     `json:"delivery"`
	Notes        []string     `json:"notes"`
	Unconfirmed  []string     `json:"unconfirmed"` // believed, but not found in the provider's own words
	Sources      []string     `json:"sources"`
}

// identity says which events are in a request, and what they are about.
type identity struct {
	Code       string         `json:"code"`     // what the code does that a recipe cannot say
	Items      string         `json:"items"`    // where the events are, "" for one that is the body
	Key        []keyRecipe    `json:"key"`      // the first whose parts are there counts, as below
	HashKey    bool           `json:"hash_key"` // where there is no key, the event's hash is it
	Type       [][]string     `json:"type"`     // joined by dots
	Resource   []resourceRule `json:"resource"`
	OccurredAt []timeRule     `json:"occurred_at"`
	Order      []timeRule     `json:"order"`
	WeakOrder  string         `json:"weak_order"` // how far the order can be trusted
	Attempt    *countRule     `json:"attempt"`
	Replay     string         `json:"replay"`
	Volatile   []string       `json:"volatile"` // what differs between two tries
}

type keyRecipe struct {
	Of      []string `json:"of"`
	Quality string   `json:"quality"`
}

type resourceRule struct {
	Type string   `json:"type"`
	ID   []string `json:"id"`
}

// timeRule is a time, a sequence, or the rank of a word.
type timeRule struct {
	Of    string           `json:"of"`
	Unit  string           `json:"unit"`
	Ranks map[string]int64 `json:"ranks"`
}

// countRule is the number of a try. First is what it is for the first one.
type countRule struct {
	Of    string `json:"of"`
	First int    `json:"first"`
}

// authenticity says how a request is signed.
type authenticity struct {
	Scheme    string   `json:"scheme"`
	Describes string   `json:"describes"` // what the code does for the scheme
	Hash      string   `json:"hash"`
	Headers   []string `json:"headers"`
	Prefix    string   `json:"prefix"` // of the signature
	List      *list    `json:"list"`   // the header holds several
	Encoding  string   `json:"encoding"`
	Key       string   `json:"key"` // how a secret is written
	Signed    string   `json:"signed"`
	Timestamp string   `json:"timestamp"` // a header, or body:path for one that the signature covers with the body
	Unit      string   `json:"unit"`
	Tolerance int      `json:"tolerance_s"` // 0: there is no time to judge by
}

// list is a header of several fields.
type list struct {
	Separator string `json:"separator"`
	Signature string `json:"signature"` // what a signature begins with
	Timestamp string `json:"timestamp"` // what the time begins with
}

type answerFacts struct {
	Success  int    `json:"success"`
	Stop     int    `json:"stop"` // 0: like success
	Accepted string `json:"accepted"`
}

type delivery struct {
	Patience  int    `json:"patience_ms"` // 0: not known
	Retries   string `json:"retries"`
	Automatic *bool  `json:"automatic"` // whether it repeats by itself; absent: not known
	Retention int    `json:"retention_days"`
}

// unknownPatience is assumed of a provider whose patience is not known.
const unknownPatience = 10 * time.Second

func (r *recipe) patience() time.Duration {
	if r.Delivery.Patience <= 0 {
		return unknownPatience
	}
	return time.Duration(r.Delivery.Patience) * time.Millisecond
}

// table is the recipes in the order of the file.
var table = sync.OnceValues(func() ([]*recipe, error) {
	var file struct {
		Providers []json.RawMessage `json:"providers"`
	}
	if err := json.Unmarshal(recipes, &file); err != nil {
		return nil, err
	}
	var all []*recipe
	for _, raw := range file.Providers {
		var head struct {
			Like string `json:"like"`
		}
		if err := json.Unmarshal(raw, &head); err != nil {
			return nil, err
		}
		r := &recipe{}
		if head.Like != "" {
			i := slices.IndexFunc(all, func(r *recipe) bool { return r.Name == head.Like })
			if i < 0 {
				return nil, fmt.Errorf("there is no recipe %q to be like", head.Like)
			}
			if err := json.Unmarshal(file.Providers[i], r); err != nil { // into arrays of its own
				return nil, err
			}
		}
		if err := json.Unmarshal(raw, r); err != nil {
			return nil, fmt.Errorf("recipe %s: %w", r.Name, err)
		}
		all = append(all, r)
	}
	return all, nil
})

// recipeOf is a recipe by name.
func recipeOf(name string) (*recipe, error) {
	all, err := table()
	if err != nil {
		return nil, fmt.Errorf("webhook: providers.json: %w", err)
	}
	for _, r := range all {
		if r.Name == name {
			return r, nil
		}
	}
	return nil, fmt.Errorf("webhook: there is no provider %q", name)
}
