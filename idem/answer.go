package idem

import "time"

// Answer is what a command is told. Its type follows the command's.
type Answer interface {
	finish(now Instant, e *Event, lane int64)
}

// Outcome is the answer to a claim, numbered as in the contract.
type Outcome uint8

// The outcomes.
const (
	OutcomeClaimed          Outcome = 1
	OutcomeAlreadyProcessed Outcome = 2
	OutcomeInProgress       Outcome = 3
	OutcomeHeld             Outcome = 4
	OutcomeFailedTerminal   Outcome = 5
	OutcomeDeadLettered     Outcome = 6
	OutcomeStale            Outcome = 7
	OutcomeResourceBusy     Outcome = 8
	OutcomeAwaiting         Outcome = 9
	OutcomeVersionTied      Outcome = 10
	OutcomeIllegal          Outcome = 11
	OutcomeLoopBlocked      Outcome = 12
	OutcomeSelfOriginated   Outcome = 13
	OutcomeRejected         Outcome = 14
	OutcomeRetryScheduled   Outcome = 15
	OutcomeMismatch         Outcome = 16
)

var outcomeNames = [...]string{"", "CLAIMED", "ALREADY_PROCESSED", "IN_PROGRESS", "HELD", "FAILED_TERMINAL", "DEAD_LETTERED", "STALE",
	"RESOURCE_BUSY", "AWAITING_PREDECESSOR", "VERSION_TIED", "ILLEGAL_TRANSITION", "LOOP_BLOCKED", "SELF_ORIGINATED",
	"REJECTED_SIGNATURE", "RETRY_SCHEDULED", "PAYLOAD_MISMATCH"}

// String is the outcome's name in the contract.
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "UNKNOWN"
}

// Advice is what a client does with a claim's answer.
type Advice uint8

// The advices, numbered as in the contract.
const (
	AdviceProcess     Advice = 1
	AdviceAcknowledge Advice = 2
	AdviceRepeatLater Advice = 3
)

// Advice is the advice that goes with the outcome. What waits for something that
// will pass is repeated; what is decided, or waits for a person, is acknowledged,
// since the provider's repeats cannot help. A rejected signature is repeated: if the
// secret was wrong on our side, the provider's retries are what saves the event.
func (o Outcome) Advice(waits bool) Advice {
	switch o {
	case OutcomeClaimed:
		return AdviceProcess
	case OutcomeInProgress, OutcomeResourceBusy, OutcomeAwaiting, OutcomeRetryScheduled, OutcomeRejected:
		return AdviceRepeatLater
	case OutcomeIllegal:
		if waits {
			return AdviceRepeatLater
		}
		return AdviceAcknowledge
	default:
		return AdviceAcknowledge
	}
}

// Anomaly is a finding that decides nothing, numbered as in the contract.
type Anomaly uint8

// The anomalies.
const (
	AnomalyMismatch  Anomaly = 1 // same ref, other payload
	AnomalyUnchanged Anomaly = 2 // fingerprint equal to the resource's last applied one
	AnomalyLate      Anomaly = 3 // the signature was valid, the timestamp too old
	AnomalyRestored  Anomaly = 4 // delivered before the current epoch began, first seen after
)

// ClaimAnswer answers [Claim].
type ClaimAnswer struct {
	Outcome   Outcome
	Advice    Advice
	Event     *Event // the record after the command, nil where none exists
	Fresh     bool   // this command made the record
	Granted   bool   // a new grant: a delivery record is part of it
	Reentered bool
	LaneFence int64
	Max       int32
	Effects   []*Effect
	Previous  Failure // the error of the attempt before
	// How the grant before ended, and its W3C trace context; with CLAIMED only.
	PreviousEnd   EndKind
	PreviousTrace string
	Late          []LateReport
	Anomalies     []Anomaly
	Replaying     bool // a replay of this processed event is under way
	Gone          bool // processed, and the record was purged: only its version remembers
	Current       *Version
	Expected      *Version
	Blocker       EventKey // the event in the way, when one is known
	RetryIn       time.Duration
	GapIn         time.Duration // with AWAITING: until the rule for gaps lets it pass, 0 for never
	Now           Instant
}

func (a *ClaimAnswer) finish(now Instant, e *Event, lane int64) {
	a.Now = now
	if e != nil {
		a.Event = e
	}
	if lane != 0 {
		a.LaneFence = lane
	}
	if a.Outcome == OutcomeRetryScheduled && a.Event != nil && a.Event.DueAt > now {
		a.RetryIn = a.Event.DueAt.Sub(now)
	}
	if a.Outcome == OutcomeInProgress && a.Event != nil && a.Event.LeaseUntil > now {
		a.RetryIn = a.Event.LeaseUntil.Sub(now)
	}
}

// EndAnswer answers [Complete], [Fail], [Release], [Settle], [Resolve] and [Replay].
type EndAnswer struct {
	Event   *Event // the record after the command
	State   State  // what the claim's end came to
	Already bool   // a repeat: nothing changed
	Late    bool   // the lease was over
	Counted bool   // the attempt counts
	Due     Instant
	Number  int32 // of the attempt that ended, over the event's life
	Attempt int32 // the round's attempts
	Max     int32
	Now     Instant
}

func (a *EndAnswer) finish(now Instant, e *Event, _ int64) {
	a.Now = now
	if e != nil {
		a.Event, a.State, a.Due = e, e.State, e.DueAt
	}
}

// ExtendAnswer answers [Extend].
type ExtendAnswer struct {
	LeaseUntil Instant
	Rearmed    bool
	Event      *Event
	Now        Instant
}

func (a *ExtendAnswer) finish(now Instant, e *Event, _ int64) {
	a.Now = now
	if e != nil {
		a.Event, a.LeaseUntil = e, e.LeaseUntil
	}
}

// Verdict is the answer to a version check, numbered as in the contract.
type Verdict uint8

// The verdicts.
const (
	VerdictApply   Verdict = 1
	VerdictAlready Verdict = 2
	VerdictStale   Verdict = 3
	VerdictTied    Verdict = 4
	VerdictGap     Verdict = 5
	VerdictBusy    Verdict = 6
	VerdictIllegal Verdict = 7
)

var verdictNames = [...]string{"", "APPLY", "ALREADY_APPLIED", "STALE", "TIED", "GAP", "BUSY", "ILLEGAL_TRANSITION"}

// String is the verdict's name in the contract.
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return "UNKNOWN"
}

// CheckAnswer answers [Check].
type CheckAnswer struct {
	Verdict   Verdict
	LaneFence int64
	Current   *Version // nil: nothing applied yet
	State     string   // of the state machine
	Expected  *Version
	Blocker   EventKey // the event in the way, or the known predecessor
	Known     State
	Now       Instant
}

func (a *CheckAnswer) finish(now Instant, _ *Event, lane int64) {
	a.Now = now
	if lane != 0 {
		a.LaneFence = lane
	}
}

// EffectVerdict is the answer about a side effect, numbered as in the contract.
type EffectVerdict uint8

// The answers.
const (
	EffectPerform      EffectVerdict = 1
	EffectAlreadyDone  EffectVerdict = 2
	EffectInProgress   EffectVerdict = 3
	EffectOutcomeOpen  EffectVerdict = 4
	EffectMismatch     EffectVerdict = 5
	EffectCircuitOpen  EffectVerdict = 6
	EffectReportedDone EffectVerdict = 7 // DONE, now or as a repeat
	EffectReportedNot  EffectVerdict = 8
	EffectRecorded     EffectVerdict = 9 // by RECORD, for the first time
)

var effectVerdictNames = [...]string{"", "PERFORM", "ALREADY_DONE", "IN_PROGRESS", "OUTCOME_UNKNOWN", "REQUEST_MISMATCH",
	"CIRCUIT_OPEN", "DONE", "NOT_DONE", "RECORDED"}

// String is the answer's name in the contract.
func (v EffectVerdict) String() string {
	if int(v) < len(effectVerdictNames) {
		return effectVerdictNames[v]
	}
	return "UNKNOWN"
}

// EffectAnswer answers [BeginEffect], [ReportEffect] and [RecordEffect].
type EffectAnswer struct {
	Verdict  EffectVerdict
	Effect   *Effect // the record after the command; nil with REQUEST_MISMATCH, which tells nothing of it
	Token    EffectToken
	Attempt  int32
	Earlier  []byte // the intent of an earlier try
	Repeat   bool
	Conflict bool
	Late     bool // a report that came after the effect's lease
	RetryIn  time.Duration
	Now      Instant

	write *EffectWrite
	lease Instant // until which a report would not have been late; 0: always
}

func (a *EffectAnswer) finish(now Instant, _ *Event, _ int64) {
	a.Now = now
	a.Late = a.lease != 0 && a.lease <= now
	if a.write != nil {
		a.Effect = a.write.Apply(now)
	}
	if a.Verdict == EffectInProgress && a.Effect != nil && a.Effect.LeaseUntil > now {
		a.RetryIn = a.Effect.LeaseUntil.Sub(now)
	}
}

// Disposition is what became of a delivery, numbered as in the contract.
type Disposition uint8

// The dispositions.
const (
	DispositionAccepted      Disposition = 1
	DispositionDuplicate     Disposition = 2
	DispositionStale         Disposition = 3
	DispositionSelf          Disposition = 4
	DispositionLoop          Disposition = 5
	DispositionRejected      Disposition = 6
	DispositionRedeliveredOK Disposition = 7 // redelivered after a failure
)

var dispositionNames = [...]string{"", "ACCEPTED", "IGNORED_DUPLICATE", "IGNORED_STALE", "IGNORED_SELF_ORIGINATED",
	"BLOCKED_LOOP", "REJECTED_SIGNATURE", "REDELIVERED_AFTER_FAILURE"}

// String is the disposition's name in the contract.
func (d Disposition) String() string {
	if int(d) < len(dispositionNames) {
		return dispositionNames[d]
	}
	return "UNKNOWN"
}

// Disposition is what became of the delivery that this claim brought.
func (a *ClaimAnswer) Disposition() Disposition {
	switch a.Outcome {
	case OutcomeRejected:
		return DispositionRejected
	case OutcomeSelfOriginated:
		return DispositionSelf
	case OutcomeLoopBlocked:
		return DispositionLoop
	case OutcomeStale:
		return DispositionStale
	default:
	}
	switch {
	case a.Fresh:
		return DispositionAccepted
	case a.Granted, a.Outcome == OutcomeRetryScheduled:
		return DispositionRedeliveredOK
	default:
		return DispositionDuplicate
	}
}
