package idem

import "time"

// Command is one thing asked of the service: a pure value. Whatever is random in
// it (nonces, jitter) is drawn once by its maker and reused by internal retries.
type Command interface {
	// Subject is the event record the command is about, zero for none.
	Subject() ID
	command()
}

// Token proves a claim. Its bytes and their MAC are the codec's business; the rules
// see what it says.
type Token struct {
	Namespace string
	Consumer  string
	Event     ID
	Fence     int64
	Nonce     ID
}

// EffectToken proves one try of a side effect.
type EffectToken struct {
	Namespace  string
	Effect     ID
	Generation int32
	Number     int32
	Nonce      ID
}

// Claim asks: may I process this event now?
type Claim struct {
	Key      EventKey
	Facts    Facts // what this delivery says; kept when it is the first
	Claimant string
	Holder   string
	Nonce    ID
	Lease    time.Duration // 0: by policy
	Stale    StaleClaim

	Ordering     *Ordering
	AcceptReplay bool
	Payload      []byte // stored once per event ref and payload hash, when this is the first

	// ArrivedAt is when the call reached a replica, as near as it can tell by the
	// database's clock; 0 means after everything. It decides only whether a
	// redelivery may waive the backoff of a failure.
	ArrivedAt Instant
	// Waited: the call waits for another claim to end. It is not granted what failed
	// while it waited, due or not.
	Waited bool

	// Acquisition names the call that acquires due events of a consumer, zero for a claim
	// that a delivery brought. Such a claim carries the stored facts: it brings nothing, is
	// no delivery, and makes no record.
	Acquisition ID
}

// Complete says: it is done.
type Complete struct {
	Token        Token
	Result       []byte
	ContentType  string
	Outputs      []string
	Applied      *Version // the version that was really fetched and applied
	AllowUnknown bool     // open effects become unknown instead of refusing
	Answered     DeliveryAnswer
}

// Fail says: it failed.
type Fail struct {
	Token      Token
	Error      Failure
	RetryAfter time.Duration // 0: by policy
	Draw       float64       // jitter, in [0, 1)
	Answered   DeliveryAnswer
}

// Extend says: still working.
type Extend struct {
	Token Token
	Lease time.Duration // 0: as long as it was granted for
}

// Release gives a claim back.
type Release struct {
	Token       Token
	Why         string
	Undelivered bool // the grant's answer never left the server; not the client's call
}

// Settle writes down what the lease's end already means.
type Settle struct{ Event ID }

// Check asks: is this version still news? With a token it reserves the resource's
// lane; without one it compares and advances at once, for the identity By.
type Check struct {
	Token    *Token
	Ordering Ordering
	By       ID
	Event    bool // By names an event record, not a request
}

// BeginEffect asks: has this operation been done? If not, do it now.
type BeginEffect struct {
	Token       *Token // with a claim, else
	Key         EffectKey
	BeginID     string
	RequestHash []byte
	Intent      []byte
	Target      string
	OnUnknown   OnUnknown
	Lease       time.Duration
	Nonce       ID
}

// ReportEffect says how a try of an effect ended: DONE, NOT_DONE or UNKNOWN.
type ReportEffect struct {
	Token       EffectToken
	State       EffectState
	Result      []byte
	ContentType string
	Error       Failure
}

// RecordEffect records an operation that has been done in one call: the first value
// wins.
type RecordEffect struct {
	Token       *Token
	Key         EffectKey
	RequestHash []byte
	Result      []byte
	ContentType string
	Target      string
}

// Resolve is an operator's decision about an event that is held, blocked, dead or
// terminally failed.
type Resolve struct {
	Event       ID
	To          ResolveTo
	Result      []byte
	ContentType string
	RequestID   string // a repeat under the same one is the same decision; empty: never a repeat
	Who, Why    string
}

// ResolveTo is what an operator decides.
type ResolveTo uint8

// The decisions.
const (
	ResolveProcessed ResolveTo = 1
	ResolveRetry     ResolveTo = 2
	ResolveTerminal  ResolveTo = 3
)

// Replay starts a deliberate second processing of a finished event.
type Replay struct {
	Event       ID
	RequestID   string
	Unprocessed bool // refuse what has been processed: nothing is wrong with it
	Who, Why    string
}

// ResolveEffect is an operator's word about a side effect: how one of unknown outcome
// ended, or that one that is done is to be done again.
type ResolveEffect struct {
	Key         EffectKey
	To          EffectDecision
	Result      []byte
	ContentType string
	RequestID   string // as in [Resolve]
	Who, Why    string
}

// EffectDecision is what an operator decides about a side effect.
type EffectDecision uint8

// The decisions.
const (
	EffectWasDone EffectDecision = 1 // it took place
	EffectWasNot  EffectDecision = 2 // it did not, and may be tried
	EffectRedo    EffectDecision = 3 // it took place, and is to be done again: a generation of its own
)

// Subject implements [Command].
func (c *Claim) Subject() ID { return c.Key.ID() }

// Subject implements [Command].
func (c *Complete) Subject() ID { return c.Token.Event }

// Subject implements [Command].
func (c *Fail) Subject() ID { return c.Token.Event }

// Subject implements [Command].
func (c *Extend) Subject() ID { return c.Token.Event }

// Subject implements [Command].
func (c *Release) Subject() ID { return c.Token.Event }

// Subject implements [Command].
func (c *Settle) Subject() ID { return c.Event }

// Subject implements [Command].
func (c *Check) Subject() ID { return c.Token.subject() }

// Subject implements [Command].
func (c *BeginEffect) Subject() ID { return c.Token.subject() }

// Subject implements [Command].
func (c *ReportEffect) Subject() ID { return ID{} }

// Subject implements [Command].
func (c *RecordEffect) Subject() ID { return c.Token.subject() }

// Subject implements [Command].
func (c *Resolve) Subject() ID { return c.Event }

// Subject implements [Command].
func (c *Replay) Subject() ID { return c.Event }

// Subject implements [Command].
func (c *ResolveEffect) Subject() ID { return ID{} }

func (t *Token) subject() ID {
	if t == nil {
		return ID{}
	}
	return t.Event
}

func (*Claim) command()         {}
func (*Complete) command()      {}
func (*Fail) command()          {}
func (*Extend) command()        {}
func (*Release) command()       {}
func (*Settle) command()        {}
func (*Check) command()         {}
func (*BeginEffect) command()   {}
func (*ReportEffect) command()  {}
func (*RecordEffect) command()  {}
func (*Resolve) command()       {}
func (*Replay) command()        {}
func (*ResolveEffect) command() {}

// ResourceOf is the resource that the command names, beside those its event has
// reserved; ok is false for none.
func ResourceOf(c Command) (key ResourceKey, ok bool) {
	switch c := c.(type) {
	case *Claim:
		if c.Ordering != nil {
			return c.Ordering.Resource, true
		}
	case *Receive:
		if c.Ordering != nil {
			return c.Ordering.Resource, true
		}
	case *Check:
		return c.Ordering.Resource, true
	}
	return ResourceKey{}, false
}

// Arrival is the delivery that a command brings.
type Arrival struct {
	Key     EventKey
	Facts   *Facts
	Payload []byte
}

// ArrivalOf is the delivery that the command brings; ok is false for none.
func ArrivalOf(c Command) (a Arrival, ok bool) {
	switch c := c.(type) {
	case *Claim:
		return Arrival{c.Key, &c.Facts, c.Payload}, c.Acquisition.IsZero()
	case *Receive:
		return Arrival{c.Key, &c.Facts, c.Payload}, c.Backfill == nil
	default:
		return Arrival{}, false
	}
}

// EffectOf is the effect record that the command names; ok is false for none.
func EffectOf(c Command) (id ID, ok bool) {
	switch c := c.(type) {
	case *BeginEffect:
		return c.Key.ID(), true
	case *RecordEffect:
		return c.Key.ID(), true
	case *ReportEffect:
		return c.Token.Effect, true
	case *ResolveEffect:
		return c.Key.ID(), true
	}
	return ID{}, false
}

// TokenOf is the claim token that the command carries, nil for none.
func TokenOf(c Command) *Token {
	switch c := c.(type) {
	case *Complete:
		return &c.Token
	case *Fail:
		return &c.Token
	case *Extend:
		return &c.Token
	case *Release:
		return &c.Token
	case *Check:
		return c.Token
	case *BeginEffect:
		return c.Token
	case *RecordEffect:
		return c.Token
	default:
		return nil
	}
}

// OrderingOf is the ordering that the command carries, nil for none.
func OrderingOf(c Command) *Ordering {
	switch c := c.(type) {
	case *Claim:
		return c.Ordering
	case *Receive:
		return c.Ordering
	case *Check:
		return &c.Ordering
	default:
		return nil
	}
}
