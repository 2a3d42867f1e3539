package idem

// VersionKind says what a resource's versions are. A resource's first use fixes it.
type VersionKind uint8

// The kinds of versions.
const (
	NoVersion VersionKind = 0
	Sequence  VersionKind = 1 // a number that the source counts
	Moment    VersionKind = 2 // nanoseconds since 1970 UTC by the source's clock
)

// Version orders the events of a resource: first by epoch, then by value, both
// as numbers. An epoch separates the series before and after a provider's
// restore.
type Version struct {
	Kind  VersionKind
	Epoch int64
	Value int64
}

// Compare is -1, 0 or 1 as v is older than, equal to or newer than o.
func (v Version) Compare(o Version) int {
	switch {
	case v.Epoch < o.Epoch:
		return -1
	case v.Epoch > o.Epoch:
		return 1
	case v.Value < o.Value:
		return -1
	case v.Value > o.Value:
		return 1
	default:
		return 0
	}
}

// Mode is the ordering rule of a resource. Its first use fixes it.
type Mode uint8

// The modes.
const (
	NoMode     Mode = 0
	LatestWins Mode = 1 // only newer than the applied version
	Sequential Mode = 2 // exactly the next version
	Signal     Mode = 3 // no state comes with an event, only the news that it changed: see signal.go
)

// Transition asks a state machine of the policy whether the resource may enter a
// state.
type Transition struct {
	Machine string
	To      string
}

// Ordering is what a claim or a check says about the version it carries.
type Ordering struct {
	Resource   ResourceKey
	Version    Version
	Mode       Mode
	Transition *Transition
}

// Resource carries the ordering state of a thing, for one consumer.
//
// A lane has no lease of its own: it lives as long as its owner's claim. The
// owner's names stay after the lane was freed, until it is given on: a late report
// of the owner counts as long as they stand.
type Resource struct {
	Key     ResourceKey
	Version int64 // row version

	Kind      VersionKind
	Mode      Mode
	Applied   bool // a version has been applied
	Epoch     int64
	Value     int64
	AppliedBy ID // the event (or the digest of the request) that applied it
	// Start is, of a sequential series, its first version. Of signals it is the fence below
	// which all had been answered before any version was known: one that is told later does
	// not unsay it.
	Start   int64
	Machine string
	State   string // the machine's state
	Print   []byte // fingerprint of the last applied event

	Owned      bool
	Owner      ID    // the event whose claim holds or last held the lane
	OwnerFence int64 // that claim's fence
	LaneFence  int64

	GapSince Instant // since when somebody waits for the expected version

	// Of a series of signals: the fence of the last grant that was completed, which carried
	// all that had arrived before it, and the event that it was a grant of.
	Covered   int64
	CoveredBy ID
}

// Current is the applied version.
func (r *Resource) Current() Version {
	return Version{Kind: r.Kind, Epoch: r.Epoch, Value: r.Value}
}

// Member is the record of a version of a sequential resource: which event carries
// it. A gap exists only while no such record exists.
type Member struct {
	Resource ID
	Epoch    int64
	Value    int64
	Event    ID
}

// Machine is a state machine of the policy: which states may follow which.
type Machine struct {
	Initial string              `json:"initial,omitempty"`
	Edges   map[string][]string `json:"edges,omitempty"`
}

// allows reports whether the machine may go from one state to another: by one
// edge, or by any path when reach is set (under LATEST_WINS the steps between may
// have been superseded). From no state, the initial one is entered first.
func (m Machine) allows(from, to string, reach bool) bool {
	if from == "" {
		if m.Initial == "" || to == m.Initial {
			return true
		}
		from = m.Initial
	}
	if from == to {
		return true
	}
	seen := map[string]bool{from: true}
	frontier := []string{from}
	for len(frontier) > 0 {
		next := frontier[0]
		frontier = frontier[1:]
		for _, s := range m.Edges[next] {
			if s == to {
				return true
			}
			if reach && !seen[s] {
				seen[s] = true
				frontier = append(frontier, s)
			}
		}
	}
	return false
}
