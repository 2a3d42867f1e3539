package idem

import "time"

// Policy is the set of rules that apply to an event key. The zero value is not
// useful; start from [DefaultPolicy].
type Policy struct {
	Version int32 // goes into the journal with each decision

	Lease       time.Duration // when a claim names none
	MaxLease    time.Duration // caps a zombie that sends heartbeats …
	MaxClaimAge time.Duration // … and how long one claim can be extended in all
	Stale       StaleClaim
	HeldLanes   bool // a held event keeps its lanes

	MaxAttempts   int32
	Backoff       Backoff
	NotYetBudget  time.Duration
	WaiveInterval time.Duration // least time between two grants that waive the backoff
	ReleaseDelay  time.Duration
	MaxReleases   int32 // graceful releases beyond it count as attempts

	RefuseMismatch bool // answer PAYLOAD_MISMATCH instead of flagging it
	Signature      SignaturePolicy
	SelfOrigins    []string

	TieSequence TieRule
	TieMoment   TieRule
	Gap         GapRule
	GapAfter    time.Duration
	Dead        DeadRule
	StartAt     int64 // first expected version of a sequential resource; 0: the first seen
	Machines    map[string]Machine
	IllegalEnds bool // an illegal transition is terminal instead of waiting

	EffectLease time.Duration
	OnUnknown   OnUnknown

	StuckAfter time.Duration // how long an event stands still before it counts as stuck

	// How long is remembered what is over. Zero: for ever.
	KeepEvents   time.Duration // finished events and what hangs on them, since their end
	KeepPayloads time.Duration // of finished events, since they were received
	KeepVersions time.Duration // what was applied to a resource, since its last change
	KeepEffects  time.Duration // effects of the scopes CONSUMER and NAMESPACE, since their last change
	Resend       time.Duration // the longest that the source sends an event again; events are kept no shorter
}

// SignaturePolicy says whether an unchecked delivery may claim.
type SignaturePolicy uint8

// The signature policies.
const (
	SignatureLearned  SignaturePolicy = 0 // required as soon as one verified delivery of the source was seen
	SignatureOptional SignaturePolicy = 1
	SignatureRequired SignaturePolicy = 2
)

// TieRule says what becomes of an event that carries another event's version.
type TieRule uint8

// The tie rules.
const (
	TieHold  TieRule = 0
	TieApply TieRule = 1 // grant, marked tied, with the advice to fetch the latest state
	TieSkip  TieRule = 2
)

// GapRule says what becomes of an event whose predecessor no record exists of.
type GapRule uint8

// The gap rules. Skip and hold act when somebody has waited for GapAfter.
const (
	GapWait GapRule = 0
	GapSkip GapRule = 1
	GapHold GapRule = 2
)

// DeadRule says what becomes of an event whose predecessor ended without being
// applied.
type DeadRule uint8

// The rules for a dead predecessor.
const (
	DeadHold DeadRule = 0
	DeadSkip DeadRule = 1
	DeadWait DeadRule = 2
)

const day = 24 * time.Hour

// Limits that no policy can pass.
const (
	MinLease        = time.Second
	MaxLeaseCeiling = 12 * time.Hour
	MinStuck        = time.Second
	MaxStuck        = 31 * day
	MaxReentries    = 3
	MaxEffects      = 256
	MaxEffectBytes  = 256 << 10
)

// DefaultPolicy is in force where no policy says otherwise.
func DefaultPolicy() *Policy {
	return &Policy{
		Lease:         60 * time.Second, // long enough for a slow API, short enough to recover
		MaxLease:      MaxLeaseCeiling,
		MaxClaimAge:   24 * time.Hour,
		Stale:         Reclaim, // a second mail is cheap
		HeldLanes:     true,    // until a person decides, newer state may be built on an unknown one
		MaxAttempts:   8,
		Backoff:       Backoff{Base: 5 * time.Second, Factor: 2, Cap: time.Hour},
		NotYetBudget:  24 * time.Hour,
		WaiveInterval: time.Second,
		MaxReleases:   100,
		TieSequence:   TieHold,
		TieMoment:     TieApply, // whole-second clocks tie every day
		Gap:           GapWait,
		Dead:          DeadHold,
		EffectLease:   60 * time.Second,
		OnUnknown:     UnknownHold, // money waits for a person
		StuckAfter:    15 * time.Minute,
		KeepEvents:    35 * day, // longer than the longest resend, with some days to spare
		KeepPayloads:  14 * day,
		Resend:        30 * day, // Adyen's, the longest known
	}
}

// signatureRequired reports whether an unchecked delivery is refused.
func (p *Policy) signatureRequired(seenVerified bool) bool {
	switch p.Signature {
	case SignatureOptional:
		return false
	case SignatureRequired:
		return true
	default:
		return seenVerified
	}
}

// lease is the length of a claim that asked for d.
func (p *Policy) lease(d time.Duration) time.Duration {
	if d <= 0 {
		d = p.Lease
	}
	return max(MinLease, min(d, p.MaxLease, MaxLeaseCeiling))
}
