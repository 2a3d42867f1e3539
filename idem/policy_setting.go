package idem

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Setting is one thing that a policy can say. The same table serves checking, storing,
// showing and the documentation.
type Setting struct {
	Name    string
	Kind    SettingKind
	Choices []string // all words that there are, of a choice
	Limits  string   // for people
	Means   string
	Why     string // the reason for the default

	set  func(p *Policy, text string) error
	show func(p *Policy) string
}

// SettingKind says how a setting's value is written.
type SettingKind uint8

// The kinds of settings.
const (
	Span     SettingKind = 1 // a duration, such as 1m30s or 35d
	Count    SettingKind = 2
	Factor   SettingKind = 3
	Choice   SettingKind = 4 // one of some words
	Names    SettingKind = 5 // a JSON list of texts
	Machines SettingKind = 6 // a JSON object of state machines by name
)

// Default is the value where no policy says otherwise.
func (s *Setting) Default() string { return s.show(DefaultPolicy()) }

// Of is the value in a policy.
func (s *Setting) Of(p *Policy) string { return s.show(p) }

// Put sets the value in a policy, or says what is wrong with it.
func (s *Setting) Put(p *Policy, text string) error { return s.set(p, text) }

// Canonical is the one way to write a value, or what is wrong with it.
func (s *Setting) Canonical(text string) (string, error) {
	p := DefaultPolicy()
	if err := s.set(p, text); err != nil {
		return "", err
	}
	return s.show(p), nil
}

// FindSetting is the setting of a name, nil for none.
func FindSetting(name string) *Setting {
	for _, s := range Settings {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Settings are all that a policy can say, in the order of the documentation.
var Settings = []*Setting{
	span("lease", func(p *Policy) *time.Duration { return &p.Lease }, MinLease, MaxLeaseCeiling, "",
		"how long a claim lives that names no length of its own; clients extend it at a third", "long enough for a slow API, short enough to recover"),
	span("max_lease", func(p *Policy) *time.Duration { return &p.MaxLease }, MinLease, MaxLeaseCeiling, "",
		"the longest lease that a claim or an extension gets, whatever it asks for", "no shorter than what callers may ask for"),
	span("max_claim_age", func(p *Policy) *time.Duration { return &p.MaxClaimAge }, MinLease, 30*day, "",
		"how long after its grant a claim can be extended in all", "caps a process that hangs and still sends heartbeats"),
	choice("stale_claim", func(p *Policy) *StaleClaim { return &p.Stale }, words[StaleClaim]{{Reclaim, "reclaim"}, {Hold, "hold"}},
		"what becomes of an event whose owner vanished: the next claim may have it, or a person decides; stored at its first claim", "a second mail is cheap; where money moves, effects of unknown outcome are held anyway"),
	choice("held_lanes", func(p *Policy) *bool { return &p.HeldLanes }, words[bool]{{true, "keep"}, {false, "free"}},
		"whether a held event keeps its resource from others", "until a person decides, newer state would be built on an unknown one"),
	count("max_attempts", func(p *Policy) *int32 { return &p.MaxAttempts }, 1, 1000,
		"attempts of a round before the event is dead-lettered; a crash counts, a release does not", "about two hours of backoff, longer than most deployments are broken"),
	span("backoff_base", func(p *Policy) *time.Duration { return &p.Backoff.Base }, time.Millisecond, 30*day, "",
		"the longest pause after a first failed attempt; pauses are drawn evenly between nothing and their longest", "a blip is over in seconds"),
	factor("backoff_factor", func(p *Policy) *float64 { return &p.Backoff.Factor }, 1, 100,
		"by how much the longest pause grows with each attempt", "doubling reaches the cap within the attempts"),
	span("backoff_cap", func(p *Policy) *time.Duration { return &p.Backoff.Cap }, time.Millisecond, 30*day, "",
		"what the longest pause never passes", "an hour after the cause is mended, all is done"),
	span("not_yet_budget", func(p *Policy) *time.Duration { return &p.NotYetBudget }, 0, 365*day, "",
		"how long failures of the kind NOT_YET are waited for before the event is dead-lettered; they count as no attempts, and come as rarely as the backoff says of the time waited so far", "what is missing is usually created the same day"),
	span("redelivery_min_interval", func(p *Policy) *time.Duration { return &p.WaiveInterval }, 0, time.Hour, "",
		"least time between two grants that a provider's redelivery gets before the backoff is over", "waiters and repeats must not burn all attempts in one blip"),
	span("release_delay", func(p *Policy) *time.Duration { return &p.ReleaseDelay }, 0, 30*day, "",
		"how long a released event rests", "another instance may be free now"),
	count("max_releases", func(p *Policy) *int32 { return &p.MaxReleases }, 0, 1_000_000,
		"graceful releases of a round beyond which each counts as an attempt", "a consumer that gives back for ever would never be noticed"),
	choice("payload_mismatch", func(p *Policy) *bool { return &p.RefuseMismatch }, words[bool]{{false, "flag"}, {true, "refuse"}},
		"what a delivery is answered whose payload differs from the first one's: an anomaly beside the answer, or PAYLOAD_MISMATCH", "many providers vary volatile fields between deliveries"),
	choice("signature", func(p *Policy) *SignaturePolicy { return &p.Signature },
		words[SignaturePolicy]{{SignatureLearned, "learned"}, {SignatureOptional, "optional"}, {SignatureRequired, "required"}},
		"whether a delivery may claim whose signature was not checked; learned: no longer once a verified delivery of the source was seen", "who verifies once verifies always; a forged delivery must not slip in beside"),
	names("self_origins", func(p *Policy) *[]string { return &p.SelfOrigins }, 64,
		"values of event.origin that name this consumer itself: such events are ignored", "only the consumer knows its own names"),
	choice("tie_sequence", func(p *Policy) *TieRule { return &p.TieSequence }, ties,
		"what becomes of an event that carries another one's sequence number: a person decides, it is granted and marked tied, or it is ignored", "two events of one number are a fault at the source"),
	choice("tie_instant", func(p *Policy) *TieRule { return &p.TieMoment }, ties,
		"the same where versions are instants", "clocks of whole seconds tie every day; fetch the latest state"),
	choice("gap", func(p *Policy) *GapRule { return &p.Gap }, words[GapRule]{{GapWait, "wait"}, {GapSkip, "skip"}, {GapHold, "hold"}},
		"what becomes of an event of a sequence while no record of the version before it exists", "only the owner of the data knows whether a version may be left out"),
	span("gap_after", func(p *Policy) *time.Duration { return &p.GapAfter }, 0, 365*day, "",
		"how long the first one has waited before gap skip or hold acts", "they are chosen by hand, and so is their patience"),
	choice("dead_predecessor", func(p *Policy) *DeadRule { return &p.Dead }, words[DeadRule]{{DeadHold, "hold"}, {DeadSkip, "skip"}, {DeadWait, "wait"}},
		"what becomes of an event of a sequence whose predecessor failed for good", "to build on what was never applied is a decision"),
	whole("sequence_start", func(p *Policy) *int64 { return &p.StartAt }, "first_seen",
		"the first version that is expected of a sequence", "a consumer may begin in the middle"),
	machines("machines", func(p *Policy) *map[string]Machine { return &p.Machines },
		"state machines by name: the initial state and, for each state, those that may follow it", "only the consumer knows its states"),
	choice("illegal_transition", func(p *Policy) *bool { return &p.IllegalEnds }, words[bool]{{false, "wait"}, {true, "fail"}},
		"what becomes of an event whose step its machine does not allow: it waits for a state that does, or fails for good", "the event before it may still be on its way"),
	span("effect_lease", func(p *Policy) *time.Duration { return &p.EffectLease }, MinLease, MaxLeaseCeiling, "",
		"how long one try of a side effect may take before its outcome is unknown, where the caller names no length", "as the lease"),
	choice("effect_on_unknown", func(p *Policy) *OnUnknown { return &p.OnUnknown }, words[OnUnknown]{{UnknownHold, "hold"}, {UnknownRetry, "retry"}},
		"what becomes of a side effect whose outcome is unknown, where its first caller does not say", "money waits for a person"),
	span("stuck_after", func(p *Policy) *time.Duration { return &p.StuckAfter }, MinStuck, MaxStuck, "",
		"how long an event may stand still before it counts as stuck, in lists and in metrics: it could be claimed and nobody does, it waits for another one, it is held or blocked", "a deployment, a restart or a provider's next delivery comes sooner"),

	span("retain_events", func(p *Policy) *time.Duration { return &p.KeepEvents }, time.Minute, maxKeep, forever,
		"how long a finished event is remembered, with its attempts, deliveries and results, since it ended; one that waits for a person is kept until somebody has acted", "longer than the longest resend, with some days to spare"),
	span("retain_payloads", func(p *Policy) *time.Duration { return &p.KeepPayloads }, time.Minute, maxKeep, forever,
		"how long the payload of a finished event is kept, since it was received", "long enough to look into a complaint, short enough for personal data"),
	span("retain_versions", func(p *Policy) *time.Duration { return &p.KeepVersions }, time.Minute, maxKeep, forever,
		"how long a resource's applied version is remembered, since its last change; never while an event of it is stored", "a resend after a year must not pass as new"),
	span("retain_effects", func(p *Policy) *time.Duration { return &p.KeepEffects }, time.Minute, maxKeep, forever,
		"how long a side effect of the scope CONSUMER or NAMESPACE is remembered, since its last change; those of one event go with it", "a charge must not be repeated after a year either"),
	span("longest_resend", func(p *Policy) *time.Duration { return &p.Resend }, 0, maxKeep, "",
		"the longest that the source sends an event again, by itself or by hand; retain_events shorter than it is refused", "Adyen repeats for 30 days, the longest of the known providers; name your source's own time to keep less"),
}

const (
	forever = "forever"
	maxKeep = 36500 * day
)

// words are the values of a choice, in the order of the documentation.
type words[T comparable] []struct {
	value T
	word  string
}

var ties = words[TieRule]{{TieHold, "hold"}, {TieApply, "apply"}, {TieSkip, "skip"}}

// span is a setting of a duration. zero is the word for none, where that means something
// of its own.
func span(name string, field func(*Policy) *time.Duration, least, most time.Duration, zero, means, why string) *Setting {
	limits := FormatDuration(least) + " to " + FormatDuration(most)
	if zero != "" {
		limits += ", or " + zero
	}
	return &Setting{
		Name: name, Kind: Span, Limits: limits, Means: means, Why: why,
		set: func(p *Policy, text string) error {
			if zero != "" && (text == zero || text == "0s") {
				*field(p) = 0
				return nil
			}
			d, err := ParseDuration(text)
			if err != nil {
				return err
			}
			if d < least || d > most {
				return fmt.Errorf("%s is not from %s", text, limits)
			}
			*field(p) = d
			return nil
		},
		show: func(p *Policy) string {
			if d := *field(p); d != 0 || zero == "" {
				return FormatDuration(d)
			}
			return zero
		},
	}
}

func count(name string, field func(*Policy) *int32, least, most int32, means, why string) *Setting {
	limits := fmt.Sprintf("%d to %d", least, most)
	return &Setting{
		Name: name, Kind: Count, Limits: limits, Means: means, Why: why,
		set: func(p *Policy, text string) error {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < int64(least) || n > int64(most) {
				return fmt.Errorf("%s is not a whole number from %s", text, limits)
			}
			*field(p) = int32(n) //nolint:gosec // checked
			return nil
		},
		show: func(p *Policy) string { return strconv.FormatInt(int64(*field(p)), 10) },
	}
}

// whole is a setting of a version number; zero is the word for none.
func whole(name string, field func(*Policy) *int64, zero, means, why string) *Setting {
	limits := "1 to 9223372036854775807, or " + zero
	return &Setting{
		Name: name, Kind: Count, Limits: limits, Means: means, Why: why,
		set: func(p *Policy, text string) error {
			n, err := strconv.ParseInt(text, 10, 64)
			if text == zero {
				n, err = 0, nil
			}
			if err != nil || n < 0 {
				return fmt.Errorf("%s is not a whole number from %s", text, limits)
			}
			*field(p) = n
			return nil
		},
		show: func(p *Policy) string {
			if n := *field(p); n != 0 {
				return strconv.FormatInt(n, 10)
			}
			return zero
		},
	}
}

func factor(name string, field func(*Policy) *float64, least, most float64, means, why string) *Setting {
	limits := fmt.Sprintf("%g to %g", least, most)
	return &Setting{
		Name: name, Kind: Factor, Limits: limits, Means: means, Why: why,
		set: func(p *Policy, text string) error {
			f, err := strconv.ParseFloat(text, 64)
			if err != nil || !(f >= least && f <= most) {
				return fmt.Errorf("%s is not a number from %s", text, limits)
			}
			*field(p) = f
			return nil
		},
		show: func(p *Policy) string { return strconv.FormatFloat(*field(p), 'g', -1, 64) },
	}
}

func choice[T comparable](name string, field func(*Policy) *T, all words[T], means, why string) *Setting {
	s := &Setting{Name: name, Kind: Choice, Means: means, Why: why}
	for _, w := range all {
		s.Choices = append(s.Choices, w.word)
	}
	s.Limits = strings.Join(s.Choices, ", ")
	s.set = func(p *Policy, text string) error {
		for _, w := range all {
			if w.word == text {
				*field(p) = w.value
				return nil
			}
		}
		return fmt.Errorf("%q is none of %s", text, s.Limits)
	}
	s.show = func(p *Policy) string {
		for _, w := range all {
			if w.value == *field(p) {
				return w.word
			}
		}
		return ""
	}
	return s
}

// maxName is the longest name in a policy, in bytes: as of a key's part.
const maxName = 512

func checkName(what, name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fmt.Errorf("%s is empty", what)
	case len(name) > maxName:
		return fmt.Errorf("%s has %d bytes, at most %d are allowed", what, len(name), maxName)
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("%s holds a NUL", what)
	default:
		return nil
	}
}

func names(name string, field func(*Policy) *[]string, most int, means, why string) *Setting {
	limits := fmt.Sprintf("at most %d names of at most %d bytes", most, maxName)
	return &Setting{
		Name: name, Kind: Names, Limits: limits, Means: means, Why: why,
		set: func(p *Policy, text string) error {
			var list []string
			if err := json.Unmarshal([]byte(text), &list); err != nil {
				return fmt.Errorf("%s is not a list of names", text)
			}
			if len(list) > most {
				return fmt.Errorf("%d names are too many: %s", len(list), limits)
			}
			for _, n := range list {
				if err := checkName("a name", n); err != nil {
					return err
				}
			}
			*field(p) = list
			return nil
		},
		show: func(p *Policy) string { return compactJSON(append([]string{}, *field(p)...)) },
	}
}

// What the state machines of a policy may be.
const (
	maxMachines = 64
	maxStates   = 256
)

func machines(name string, field func(*Policy) *map[string]Machine, means, why string) *Setting {
	limits := fmt.Sprintf("at most %d machines of at most %d states, names of at most %d bytes", maxMachines, maxStates, maxName)
	return &Setting{
		Name: name, Kind: Machines, Limits: limits, Means: means, Why: why,
		set: func(p *Policy, text string) error {
			d := json.NewDecoder(strings.NewReader(text))
			d.DisallowUnknownFields()
			var all map[string]Machine
			if err := d.Decode(&all); err != nil {
				return fmt.Errorf("it is no mapping of names to {initial, edges}: %w", err)
			}
			if len(all) > maxMachines {
				return fmt.Errorf("%d machines are too many: %s", len(all), limits)
			}
			for _, n := range slices.Sorted(maps.Keys(all)) {
				if err := all[n].check(n); err != nil {
					return err
				}
			}
			*field(p) = all
			return nil
		},
		show: func(p *Policy) string {
			all := *field(p)
			if all == nil {
				all = map[string]Machine{}
			}
			return compactJSON(all)
		},
	}
}

func (m Machine) check(name string) error {
	if err := checkName("a machine's name", name); err != nil {
		return err
	}
	states := map[string]bool{}
	if m.Initial != "" {
		states[m.Initial] = true
	}
	for from, to := range m.Edges {
		states[from] = true
		for _, s := range to {
			states[s] = true
		}
	}
	if len(states) == 0 {
		return fmt.Errorf("machine %s has no states", name)
	}
	if len(states) > maxStates {
		return fmt.Errorf("machine %s has %d states, at most %d are allowed", name, len(states), maxStates)
	}
	for s := range states {
		if err := checkName("a state of machine "+name, s); err != nil {
			return err
		}
	}
	return nil
}

func compactJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("idem: " + err.Error()) // texts, lists and maps of texts
	}
	return string(b)
}

// ParseDuration reads a duration such as 90s, 1h30m or 35d (days of 24 hours), which
// cannot be negative.
func ParseDuration(text string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a duration such as 90s, 1h30m or 35d", text)
	rest := text
	var sum time.Duration
	if days, after, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseInt(days, 10, 64)
		if err != nil || n < 0 || n > int64(maxKeep/day) {
			return 0, bad
		}
		sum, rest = time.Duration(n)*day, after
		if rest == "" {
			return sum, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || strings.HasPrefix(rest, "+") {
		return 0, bad
	}
	return sum + d, nil
}

// FormatDuration writes a duration as [ParseDuration] reads it, without parts that are zero.
func FormatDuration(d time.Duration) string {
	if d == 0 {
		return "0s"
	}
	out := ""
	if n := d / day; n > 0 {
		out, d = fmt.Sprintf("%dd", n), d%day
	}
	if d == 0 {
		return out
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return out + s
}
