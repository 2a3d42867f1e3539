package idem

// State is where the processing of an event key stands. The numbers are stored;
// they never change their meaning.
type State uint8

// The states. Absent means that no record exists.
const (
	Absent          State = 0
	Received        State = 1  // known, not being worked on; may be waiting
	Processing      State = 2  // a claim exists; it may have expired
	Processed       State = 3  // done; a duplicate is a success
	FailedRetryable State = 4  // may be claimed again when due
	FailedTerminal  State = 5  // the consumer said: never
	DeadLettered    State = 6  // attempts used up
	IgnoredStale    State = 7  // superseded by a newer version
	Held            State = 8  // outcome unknown, a person decides
	BlockedLoop     State = 9  // a loop rule stopped it
	IgnoredSelf     State = 10 // the consumer's own doing, ignored
)

// States lists every stored state in its order.
var States = []State{Received, Processing, Processed, FailedRetryable, FailedTerminal,
	DeadLettered, IgnoredStale, Held, BlockedLoop, IgnoredSelf}

var stateNames = [...]string{"ABSENT", "RECEIVED", "PROCESSING", "PROCESSED", "FAILED_RETRYABLE",
	"FAILED_TERMINAL", "DEAD_LETTERED", "IGNORED_STALE", "HELD", "BLOCKED_LOOP", "IGNORED_SELF_ORIGINATED"}

// String is the state's name in the contract.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "UNKNOWN"
}

// Finished reports whether the state is an end state: only an operator's act
// leaves it, and retention counts from it.
func (s State) Finished() bool {
	switch s {
	case Processed, FailedTerminal, DeadLettered, IgnoredStale, IgnoredSelf:
		return true
	default:
		return false
	}
}

// Reason says why a record is in its state, where the state alone does not.
type Reason uint8

// The reasons. The numbers are stored.
const (
	NoReason          Reason = 0
	LeaseExpired      Reason = 1  // the owner vanished
	AttemptsExhausted Reason = 2  // the round's attempts are used up
	TiedVersion       Reason = 3  // another event carries the same version
	SkippedGap        Reason = 4  // a later version was applied over this one's absence
	DeadPredecessor   Reason = 5  // the version before it ended without being applied
	UnknownEffect     Reason = 6  // a side effect's outcome is unknown under HOLD
	NotYetExhausted   Reason = 7  // what it waits for did not come in time
	IllegalStep       Reason = 8  // the state machine has no such step
	Reported          Reason = 9  // the consumer reported it
	ByOperator        Reason = 10 // an operator decided it
	GapTimeout        Reason = 11 // the gap before it did not fill in time
	Carried           Reason = 12 // a later grant about the same resource carried this signal
)

var reasonNames = [...]string{"", "LEASE_EXPIRED", "ATTEMPTS_EXHAUSTED", "TIED", "SKIPPED_GAP", "DEAD_PREDECESSOR",
	"UNKNOWN_EFFECT", "NOT_YET_EXHAUSTED", "ILLEGAL_TRANSITION", "REPORTED", "OPERATOR", "GAP_TIMEOUT", "CARRIED"}

// String is the reason's name in the contract, empty for none.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return "UNKNOWN"
}

// EndKind says how the last grant of a record ended.
type EndKind uint8

// The ends of a claim. The numbers are stored.
const (
	NotEnded       EndKind = 0
	EndCompleted   EndKind = 1
	EndFailed      EndKind = 2 // retryable
	EndRejected    EndKind = 3 // terminal
	EndNotYet      EndKind = 4
	EndReleased    EndKind = 5
	EndUndelivered EndKind = 6 // granted, but its answer never left the server
	EndExpired     EndKind = 7
	EndResolved    EndKind = 8 // an operator decided over it
)

var endNames = [...]string{"", "COMPLETED", "FAILED", "REJECTED", "NOT_YET", "RELEASED", "UNDELIVERED", "EXPIRED", "RESOLVED"}

// String is the end's name, empty for a claim that has not ended.
func (e EndKind) String() string {
	if int(e) < len(endNames) {
		return endNames[e]
	}
	return "UNKNOWN"
}

// byOwner reports whether the claim's owner ended it by a call of its own.
func (e EndKind) byOwner() bool { return e >= EndCompleted && e <= EndReleased }

// StaleClaim is the stored decision about a claim whose owner vanished.
type StaleClaim uint8

// The two decisions; the zero value means that the policy decides.
const (
	StaleByPolicy StaleClaim = 0
	Reclaim       StaleClaim = 1 // the next claim may have it
	Hold          StaleClaim = 2 // a person decides
)
