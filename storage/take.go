package storage

import (
	"cmp"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// TakeFor is how long events that were taken are kept from other replicas: longer than it
// takes to grant them, and short enough should the replica die before.
const TakeFor = 10 * time.Second

// AcquisitionsKept is how long a repeat of an acquisition is recognised at least.
const AcquisitionsKept = 15 * time.Minute

// Group is the events of one consumer.
type Group struct{ Namespace, Consumer string }

// Compare orders groups by their names.
func (g Group) Compare(o Group) int {
	return cmp.Or(cmp.Compare(g.Namespace, o.Namespace), cmp.Compare(g.Consumer, o.Consumer))
}

// GroupOf is the group of an event.
func GroupOf(k idem.EventKey) Group { return Group{k.Namespace, k.Consumer} }

// Wanted is how many events of a group are wanted at most.
type Wanted struct {
	Group
	Max int
}

// TakeQuery asks for events that could be granted now.
type TakeQuery struct {
	Wanted []Wanted
	// Lanes are resources whose lane may have become free just now: what is next there is
	// asked for beside the rest.
	Lanes []idem.ID
	// Again are acquisitions that may have been granted something before.
	Again []idem.ID
}

// Taken is what a [TakeQuery] found. The records are as of the moment of reading; only a
// claim decides.
type Taken struct {
	// Due are events of the wanted groups, those that are due for longest first. Of the events
	// about one resource there is the next one only. They are kept from other takers for
	// [TakeFor], or until they rest.
	Due []*idem.Event
	// Next are events about the asked lanes, by lane, in the order in which they are to be
	// tried. Nobody is kept from them.
	Next []*idem.Event
	// Full are the groups of which more may be due.
	Full []Group
	// Again are the events that acquisitions have been granted, if any.
	Again map[idem.ID][]*idem.Event
	Now   idem.Instant
}

// Rest is when an event that was taken, and not granted, is offered again: sooner, where
// something has happened since that it may have been waiting for.
type Rest struct {
	Event idem.ID
	In    time.Duration // 0: at once
}

// Ranks reports whether a is to be granted before b, where both are about one resource:
// the newest first under LATEST_WINS, the oldest under SEQUENTIAL, and under SIGNAL what
// arrived or was granted last, which carries all others.
func Ranks(a, b *idem.Event) bool {
	if a.Signals() {
		return a.Fence > b.Fence
	}
	if a.Ordering.Mode == idem.LatestWins {
		a, b = b, a
	}
	return a.Ordering.Version.Compare(b.Ordering.Version) < 0
}
