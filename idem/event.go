package idem

import (
	"slices"
	"time"
)

// Facts are what the first delivery said about an event. They are written once;
// a later delivery that differs is an anomaly and overwrites nothing.
type Facts struct {
	KeyQuality   uint8 // PROVIDER_ID, COMPOSITE, PAYLOAD_HASH as numbered in the contract
	Type         string
	ResourceType string
	ResourceID   string
	OccurredAt   int64 // nanoseconds since 1970 UTC by the source's clock, 0 unknown
	Correlation  string
	CauseSource  string // a cause of the same namespace …
	CauseEventID string
	CauseText    string // … or free text when it lives elsewhere
	Origin       string
	PayloadHash  []byte
	PayloadRef   string
	PayloadSize  int32
	ContentType  string
	Fingerprint  []byte

	RequestID   string // the first delivery
	Kind        DeliveryKind
	Attempt     int32 // the provider's own count
	Signature   Signature
	ReceivedAt  int64 // nanoseconds since 1970 UTC by the receiver's clock, 0 unknown
	Headers     []Header
	TraceParent string
	CauseTrace  string
}

// Header is one allow-listed header of a delivery.
type Header struct{ Name, Value string }

// DeliveryKind says who sent this arrival.
type DeliveryKind uint8

// The kinds of deliveries, numbered as in the contract.
const (
	KindUnspecified DeliveryKind = 0
	ProviderFirst   DeliveryKind = 1
	ProviderRetry   DeliveryKind = 2
	ProviderReplay  DeliveryKind = 3
	ConsumerRequeue DeliveryKind = 4
	ClientRepeat    DeliveryKind = 5
)

var kindNames = [...]string{"UNSPECIFIED", "PROVIDER_FIRST", "PROVIDER_RETRY", "PROVIDER_REPLAY", "CONSUMER_REQUEUE", "CLIENT_REPEAT"}

// String is the kind's name in the contract.
func (k DeliveryKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "UNKNOWN"
}

// fromProvider reports whether the arrival is (or may be) the provider's own, which
// our backoff must not refuse. Unspecified counts as the provider's: costing its
// last retry is the worse mistake.
func (k DeliveryKind) fromProvider() bool { return k <= ProviderReplay }

// Signature is the verdict of whoever received the delivery.
type Signature uint8

// The verdicts, numbered as in the contract.
const (
	SignatureUnspecified Signature = 0 // the same as NotChecked
	Verified             Signature = 1
	VerifiedLate         Signature = 2
	SignatureFailed      Signature = 3
	NotChecked           Signature = 4
)

func (s Signature) genuine() bool { return s == Verified || s == VerifiedLate }

// Event is the record of an event key.
type Event struct {
	Key     EventKey
	id      ID // of the key, when it is known already: see Identify
	Facts   Facts
	Version int64 // row version; each rise has its journal entry

	State    State
	ByExpiry bool // the last grant ended by its lease alone; its token may still report
	Reason   Reason
	Stale    StaleClaim // stored at the first claim
	Ordering *Ordering  // of the first claim that carried one

	// The last grant.
	Fence       int64 // under SIGNAL it is drawn at the arrival, too, before there is a grant
	Nonce       ID
	Claimant    string
	Holder      string // who called, for people: the name of its access token
	Lease       time.Duration
	LeaseUntil  Instant
	GrantedAt   Instant
	GrantRound  int32
	GrantReplay bool // it was a replay's
	Reentries   int32
	AttemptHash []byte // payload hash of the delivery that the attempt is for
	Trace       string // see GrantTrace
	Tied        bool
	Waived      bool // granted before it was due, to a provider's redelivery
	Lanes       []Lane

	// Counts. max_attempts counts Attempts, which each round begins anew.
	Round    int32
	Attempts int32
	Total    int32
	Releases int32

	Replay       bool // this round is a replay
	ReplayFailed bool
	ReplayDied   bool     // it ended by its lease alone: a late call of its claim is still the replay's
	ReplayIDs    []string // the requests that have been carried out, the last one last
	Replays      int32    // how many there were
	SettledAs    State    // what duplicates are told while a replay runs
	Backfill     bool     // an operator had the consumer work on it, not a delivery; see IsReplay

	// How the last grant ended.
	End      EndKind
	EndHash  ID
	EndState State // what the ending call was answered
	EndLate  bool  // it came after the lease
	EndFree  bool  // the attempt does not count
	EndWhy   string
	EndCount int32         // the round's attempts as the ending call was told
	EndDelay time.Duration // from EndedAt to the due time that it was told, 0 for none
	EndedAt  Instant
	DueAt    Instant

	// What the event came to.
	Result      []byte
	ContentType string
	Outputs     []string
	Error       Failure

	Answered DeliveryAnswer

	Waiting      Waiting
	WaitingSince Instant
	NotYetSince  Instant
	CreatedAt    Instant

	// LetPass is an operator's word that the event runs although a version before its own is
	// missing or dead, or another event carries the same.
	LetPass bool

	CarriedBy ID // the event whose completed grant carried this signal, zero for none

	Effects int32 // side effects begun or recorded under this event
	Began   bool  // this attempt began an effect

	LateReports []LateReport

	Decided []Decided // what operators have decided by request, the last one last
}

// Decided is an operator's decision that has been carried out: a repeat of its request is
// told the same.
type Decided struct {
	Request string
	Hash    ID    // of what was decided
	State   State // of the event, as it was told; of an effect, its EffectState
}

// MaxDecided bounds the decisions that are remembered of one record.
const MaxDecided = 32

// decided is what the request has decided about the record before, nil for nothing. The
// same request with another content is refused.
func decided(list []Decided, request string, hash ID) (*Decided, *Error) {
	if request == "" {
		return nil, nil
	}
	for i := range list {
		if list[i].Request != request {
			continue
		}
		if list[i].Hash != hash {
			return nil, &Error{Code: CodeNotResolvable, Field: "request_id", Detail: "this request has decided otherwise; another decision needs a request ID of its own"}
		}
		return &list[i], nil
	}
	return nil, nil
}

// remember adds a decision, and forgets the oldest beyond what is kept.
func remember(list []Decided, d Decided) []Decided {
	if d.Request == "" {
		return list
	}
	return append(slices.Clone(list[max(0, len(list)-MaxDecided+1):]), d)
}

// ID names the record.
func (e *Event) ID() ID {
	if e.id.IsZero() {
		return e.Key.ID()
	}
	return e.id
}

// Identify tells the record its ID, which is that of its key, so that it need not be
// hashed again.
func (e *Event) Identify(id ID) { e.id = id }

// GrantTrace is the W3C trace context of the call that got the last grant, empty for
// none. That of a first attempt is kept only where it is not the first delivery's.
func (e *Event) GrantTrace() string {
	if e.Total == 1 && e.Trace == "" {
		return e.Facts.TraceParent
	}
	return e.Trace
}

// IsReplay reports whether an operator asked for the processing, so that its claims say so:
// a replay, or a backfill that no delivery has taken for its own.
func (e *Event) IsReplay() bool { return e.Replay || e.Backfill }

// live reports whether the claim is alive at the instant.
func (e *Event) live(now Instant) bool { return e.State == Processing && e.LeaseUntil > now }

// DeliveryAnswer is what the provider was answered, as the consumer reports it.
type DeliveryAnswer struct {
	HTTPStatus int32
	At         int64 // nanoseconds since 1970 UTC by the consumer's clock
}

// Lane is a resource that a claim reserved and the version it applies on completion.
type Lane struct {
	Resource ID
	Version  Version
	Start    int64 // the first version expected of a sequential series, should this be the first applied
	Machine  string
	To       string
}

// Failure is an error reported by a consumer, or the cause of a dead letter.
type Failure struct {
	Kind    FailureKind
	Code    string
	Message string
}

// FailureKind tells apart what may be tried again.
type FailureKind uint8

// The kinds of failures, numbered as in the contract.
const (
	NoFailure FailureKind = 0
	Retryable FailureKind = 1
	Terminal  FailureKind = 2
	NotYet    FailureKind = 3 // what it needs does not exist yet; a budget of its own, by time
)

// WaitKind says what a received event waits for.
type WaitKind uint8

// What an event can wait for.
const (
	NotWaiting         WaitKind = 0
	WaitingLane        WaitKind = 1 // another event's claim on the same resource
	WaitingPredecessor WaitKind = 2 // an earlier version of a sequential resource
	WaitingStep        WaitKind = 3 // a state from which its transition is legal
)

// Waiting says what a received event waits for.
type Waiting struct {
	Kind     WaitKind
	Event    ID // the event in the way, when it is known
	Expected Version
}

// LateReport is a call that came after its claim was lost. It changes nothing and
// is shown to the operator and to the next grant.
type LateReport struct {
	Fence  int64
	Number int32 // of that attempt, over the event's life
	Call   EndKind
	Hash   ID
	Error  Failure
	// Of a completion, as far as it is small: see [MaxLateResult].
	Result      []byte
	ContentType string
	Omitted     bool // there was a result, too large to be kept
}

// MaxLateResult bounds the result that is kept of a completion which came too late, in
// bytes. Of a larger one its hash is kept.
const MaxLateResult = 1024

// MaxReplays bounds the replay requests that are remembered.
const MaxReplays = 32

// MaxLateReports bounds the late reports kept between two grants of an event.
const MaxLateReports = 8

// Attempt is a grant that has been followed by another one.
type Attempt struct {
	Event       ID
	Fence       int64
	Nonce       ID
	Round       int32
	Number      int32
	Claimant    string
	Holder      string
	GrantedAt   Instant
	EndedAt     Instant
	End         EndKind
	EndHash     ID
	DueAt       Instant
	AttemptHash []byte
	Trace       string // W3C trace context of the call that was granted, empty for none
	Error       Failure
	Result      []byte // of an earlier round, replaced by a replay
	ContentType string
	State       State // what the ending call was answered
	EndLate     bool
	EndFree     bool
	EndWhy      string
	EndCount    int32
	Replay      bool
	Late        []LateReport
}
