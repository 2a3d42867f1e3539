package idem

// World is what a decision is made on: the records that the command touches or
// asks about, as of one moment.
type World struct {
	// Now is the database's clock at the moment of reading. Zero means that the
	// records are a guess: their claims are taken for live, which the write then
	// tests, and a decision that needs the time asks for a read ([Decision.Reread]).
	Now Instant

	Event *Event   // the subject, nil when no record exists
	Past  *Attempt // the earlier attempt that the command's token or claimant names
	// Effects are those that were begun or recorded under the event. A guess may know some of
	// them, and nothing but how they were when the event's record was written.
	Effects []*Effect

	Resources map[ID]*Resource // the named one, those of the event's lanes and of the owners' lanes
	Owners    map[ID]*Event    // the events whose claims own lanes of those resources
	// Members are those of the named resource in the epoch of the command's version, by
	// value up to its own: from the expected one, or from the lowest where nothing has been
	// applied in that epoch.
	Members []MemberEvent

	// Signals are, for the completion of a signal's claim, others about its resource that seem
	// to be pending: those that arrived first, at most [MaxFold]. Not all need be here.
	Signals []*Event

	Effect *Effect // the named effect, nil when no record exists

	// Policies gives the policy of another event than the subject, whose claim is settled on
	// the way; nil: the subject's.
	Policies func(*Event) *Policy

	SeenVerified bool    // a verified delivery of the source has been seen
	EpochStart   Instant // when the current epoch began, 0 for the first one
}

// MemberEvent is a member and how far its event has come.
type MemberEvent struct {
	Member
	Key   EventKey
	State State // settled; Absent when the record was purged
}

func (w *World) guess() bool { return w.Now == 0 }

// effectsClosed reports whether all side effects of the event's claim are known and none is
// open. One that was begun under an earlier claim, or that has been begun under another event
// since, is for a read to tell.
func (w *World) effectsClosed(e *Event) bool {
	for _, f := range w.Effects {
		if f.Event != e.ID() || f.Fence != e.Fence || f.open() {
			return false
		}
	}
	return len(w.Effects) == int(e.Effects)
}

func (w *World) policyOf(e *Event, p *Policy) *Policy {
	if w.Policies == nil {
		return p
	}
	return w.Policies(e)
}

func (w *World) resource(id ID, key ResourceKey) *Resource {
	if r := w.Resources[id]; r != nil {
		return r
	}
	return &Resource{Key: key}
}

// EventWrite is a conditional change of an event record.
type EventWrite struct {
	Old *Event // nil: the record must not exist
	New *Event // instants other than those below are carried over unchanged

	Rises int64 // by how much the row version rises: the number of entries; 0 for a heartbeat
	Draw  bool  // a new fence is drawn
	Live  bool  // the claim must be alive at the moment of writing
	Over  bool  // the lease must be over at the moment of writing: a heartbeat raises no row version

	Lease        When
	ExtendCap    Instant // with a heartbeat: the lease never passes it, and never shrinks
	Granted      When
	Ended        When
	Due          When
	WaitingSince When
	NotYetSince  When
}

// Apply is the record after the write at the given moment, with the fence drawn.
func (w *EventWrite) Apply(now Instant, fence int64) *Event {
	e := *w.New
	if w.Old == nil {
		e.CreatedAt = now
		e.Version = w.Rises
	} else {
		e.Version = w.Old.Version + w.Rises
	}
	if w.Draw {
		e.Fence = fence
	}
	if w.Rises == 0 {
		e.LeaseUntil = max(w.Old.LeaseUntil, min(w.Lease.Resolve(w.Old.LeaseUntil, now), w.ExtendCap))
	} else {
		e.LeaseUntil = w.Lease.Resolve(e.LeaseUntil, now)
	}
	e.GrantedAt = w.Granted.Resolve(e.GrantedAt, now)
	e.EndedAt = w.Ended.Resolve(e.EndedAt, now)
	e.DueAt = w.Due.Resolve(e.DueAt, now)
	e.WaitingSince = w.WaitingSince.Resolve(e.WaitingSince, now)
	e.NotYetSince = w.NotYetSince.Resolve(e.NotYetSince, now)
	return &e
}

// ResourceWrite is a conditional change of a resource record. A record that does not
// exist has row version 0.
type ResourceWrite struct {
	Old, New *Resource
	Lane     bool // the lane is given: the lane fence is the drawn one
	// OwnFence: the owner's claim is granted by this very command, so that its fence
	// is the drawn one too.
	OwnFence bool
	GapSince When
}

// Apply is the record after the write.
func (w *ResourceWrite) Apply(now Instant, fence int64) *Resource {
	r := *w.New
	r.Version = w.Old.Version + 1
	if w.Lane {
		r.LaneFence = fence
	}
	if w.OwnFence {
		r.OwnerFence = fence
	}
	r.GapSince = w.GapSince.Resolve(r.GapSince, now)
	return &r
}

// EffectWrite is a conditional change of an effect record. A record that does not
// exist has row version 0.
type EffectWrite struct {
	Old, New *Effect
	Lease    When
}

// Apply is the record after the write.
func (w *EffectWrite) Apply(now Instant) *Effect {
	e := *w.New
	e.Version = w.Old.Version + 1
	e.LeaseUntil = w.Lease.Resolve(e.LeaseUntil, now)
	e.Since = now
	return &e
}

// Decision is what becomes of a command. All its writes happen, or none.
type Decision struct {
	Answer Answer
	Err    *Error
	Reread bool // the guess is not enough: read and decide again

	Event     *EventWrite
	Owners    []*EventWrite // others: expired owners of lanes, settled on the way, and signals that end with this one
	Resources []*ResourceWrite
	Effects   []*EffectWrite
	Attempts  []Attempt
	Member    *Member
	Entries   []Entry
}

// Writes reports whether the decision changes anything.
func (d *Decision) Writes() bool {
	return d.Event != nil || len(d.Owners) > 0 || len(d.Resources) > 0 || len(d.Effects) > 0
}

// Draws reports whether a fence must be drawn.
func (d *Decision) Draws() bool {
	if d.Event != nil && d.Event.Draw {
		return true
	}
	for _, r := range d.Resources {
		if r.Lane {
			return true
		}
	}
	return false
}

// Finish completes the answer with what only the write could tell: its moment and
// the fence it drew. Stores call it once after the commit; for a decision without
// writes, with the moment of reading. It returns the event's record as written, nil
// for none.
func (d *Decision) Finish(now Instant, fence int64) *Event {
	var e *Event
	if d.Event != nil {
		e = d.Event.Apply(now, fence)
	}
	if d.Answer == nil {
		return e
	}
	var lane int64
	for _, r := range d.Resources {
		if r.Lane {
			lane = fence
		}
	}
	d.Answer.finish(now, e, lane)
	return e
}

// Entry is one line of the journal.
type Entry struct {
	Kind    EntryKind
	Subject Subject
	ID      ID
	Seq     int64 // the subject's row version after it
	From    State
	To      State
	Reason  Reason
	Late    bool
	Policy  int32

	Attempt, Round int32
	First          bool // the record's first entry: its facts belong to it
	Claimant       string
	Holder         string
	Error          Failure
	ResultHash     ID
	Outputs        []string
	Who, Why       string
	Request        string

	Carrier ID     // the event that carried this one, a signal
	Applied []Lane // versions applied by it
	Also    []Touched
}

// Subject says which kind of record an entry is about.
type Subject uint8

// The subjects.
const (
	OnEvent    Subject = 1
	OnResource Subject = 2
	OnEffect   Subject = 3
)

// Touched is a record that changed along with an entry's subject.
type Touched struct {
	Subject Subject
	ID      ID
	Seq     int64
	State   uint8 // of an effect
}

// EntryKind says what happened. Numbers are stored.
type EntryKind uint8

// The kinds of entries.
const (
	EntryClaimed        EntryKind = 1
	EntryReentered      EntryKind = 2
	EntryCompleted      EntryKind = 3
	EntryFailed         EntryKind = 4
	EntryReleased       EntryKind = 5
	EntryExpired        EntryKind = 6
	EntryRearmed        EntryKind = 7
	EntryWaiting        EntryKind = 8
	EntryIgnored        EntryKind = 9
	EntryHeld           EntryKind = 10
	EntryDeadLettered   EntryKind = 11
	EntryLateReport     EntryKind = 12
	EntryVersionChecked EntryKind = 13
	EntryEffect         EntryKind = 14
	EntryEffectConflict EntryKind = 15
	EntryResolved       EntryKind = 16
	EntryReplay         EntryKind = 17
	EntryForgotten      EntryKind = 18 // the record was removed: its retention is over
	EntryReceived       EntryKind = 19
)

var entryNames = [...]string{"", "CLAIMED", "REENTERED", "COMPLETED", "FAILED", "RELEASED", "EXPIRED", "REARMED", "WAITING",
	"IGNORED", "HELD", "DEAD_LETTERED", "LATE_REPORT", "VERSION_CHECKED", "EFFECT", "EFFECT_CONFLICT", "RESOLVED", "REPLAY", "FORGOTTEN", "RECEIVED"}

// String is the kind's name.
func (k EntryKind) String() string {
	if int(k) < len(entryNames) {
		return entryNames[k]
	}
	return "UNKNOWN"
}
