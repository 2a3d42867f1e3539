package idem

import "strconv"

// Scope says how far a side effect's key reaches. It is always stated; there is
// no default, since a namespace-wide key called "charge" would suppress the second
// customer's charge.
type Scope uint8

// The scopes.
const (
	NoScope        Scope = 0
	EventScope     Scope = 1 // the key lives inside one event key
	ConsumerScope  Scope = 2 // one operation across the events of a consumer
	NamespaceScope Scope = 3 // one business operation across events and consumers
)

// EffectKey names one operation that must not happen twice. The fields that its
// scope does not use are empty: see [EffectKey.Scoped].
type EffectKey struct {
	Scope     Scope
	Namespace string
	Consumer  string // unused in NamespaceScope
	Event     ID     // the event's record, EventScope only
	Key       string
}

// Scoped is the key with the fields emptied that its scope does not use.
func (k EffectKey) Scoped() EffectKey {
	switch k.Scope {
	case EventScope:
		return k
	case ConsumerScope:
		k.Event = ID{}
	default:
		k.Event, k.Consumer = ID{}, ""
	}
	return k
}

// ID names the effect's record.
func (k EffectKey) ID() ID {
	k = k.Scoped()
	switch k.Scope {
	case EventScope:
		return short(hashParts("idemsvc/effect/event/1", k.Namespace, string(k.Event[:]), k.Key))
	case ConsumerScope:
		return short(hashParts("idemsvc/effect/consumer/1", k.Namespace, k.Consumer, k.Key))
	default:
		return short(hashParts("idemsvc/effect/namespace/1", k.Namespace, k.Key))
	}
}

// EffectState is where a side effect stands in its generation. Numbers are stored.
type EffectState uint8

// The states of a side effect.
const (
	EffectAbsent  EffectState = 0
	EffectBegun   EffectState = 1 // its outcome is unknown once the effect lease is over
	EffectDone    EffectState = 2
	EffectNotDone EffectState = 3
	EffectUnknown EffectState = 4
)

var effectStateNames = [...]string{"ABSENT", "BEGUN", "DONE", "NOT_DONE", "UNKNOWN"}

// String is the state's name in the contract.
func (s EffectState) String() string {
	if int(s) < len(effectStateNames) {
		return effectStateNames[s]
	}
	return "INVALID"
}

// OnUnknown is the stored decision about an effect whose outcome is unknown.
type OnUnknown uint8

// The decisions. A later caller may tighten RETRY to HOLD, never loosen it.
const (
	UnknownByPolicy OnUnknown = 0
	UnknownRetry    OnUnknown = 1 // perform again under the same downstream key
	UnknownHold     OnUnknown = 2 // a person decides
)

// Effect is the record of one side effect.
type Effect struct {
	Key     EffectKey
	Version int64 // row version

	Generation  int32
	State       EffectState
	OnUnknown   OnUnknown
	RequestHash []byte
	Target      string
	Intent      []byte
	LeaseUntil  Instant // of the last try
	Tries       []Try   // of this generation, oldest first

	Result      []byte
	ContentType string
	Error       Failure
	Conflicts   []ID // contradicting reports that came after DONE, by hash
	Decided     []Decided

	Event ID // the event under which it was last begun, zero for none
	Fence int64
	Since Instant // last change
	Bytes int32   // what it counts against its event's limit
}

// ID names the record.
func (e *Effect) ID() ID { return e.Key.ID() }

// Try is one PERFORM of an effect.
type Try struct {
	Number int32
	Nonce  ID
	Begin  string // the caller's begin_id
	Open   bool   // its outcome has not been reported
}

// MaxTries bounds the tries of one generation that are remembered.
const MaxTries = 64

func (e *Effect) last() *Try {
	if len(e.Tries) == 0 {
		return nil
	}
	return &e.Tries[len(e.Tries)-1]
}

func (e *Effect) try(number int32, nonce ID) *Try {
	for i := range e.Tries {
		if e.Tries[i].Number == number && e.Tries[i].Nonce == nonce {
			return &e.Tries[i]
		}
	}
	return nil
}

// stateAt is the effect's state at an instant: a begun effect whose lease is over
// is unknown, whether or not anybody has written that down.
func (e *Effect) stateAt(now Instant) EffectState {
	if e.State == EffectBegun && e.LeaseUntil <= now {
		return EffectUnknown
	}
	return e.State
}

// open reports whether the effect's outcome is not known.
func (e *Effect) open() bool { return e.State == EffectBegun || e.State == EffectUnknown }

// clone copies the effect with tries of its own.
func (e *Effect) clone() *Effect {
	c := *e
	c.Tries = append([]Try(nil), e.Tries...)
	return &c
}

// DownstreamKey is the idempotency key to hand to the target: stable for the
// effect's key and generation, the same for every try.
func (e *Effect) DownstreamKey() string {
	id := e.ID()
	d := Digest("downstream", string(id[:]), strconv.Itoa(int(e.Generation)))
	return "idem_" + d.String()
}
