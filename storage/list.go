package storage

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// ListQuery asks for a page of events. What is empty does not filter.
type ListQuery struct {
	Namespace string // required
	Consumer  string
	Source    string
	Type      string

	States       []idem.State  // as settled; any of these
	Stuck        bool          // only what has stood still and needs somebody from outside
	StuckAfter   time.Duration // ... for this long; 0: for as long as the event's policy says
	ReplayFailed bool          // only what was replayed without success, and is what it was before

	ResourceType string
	ResourceID   string
	Correlation  string
	From, Until  idem.Instant // first delivery, from the first on and before the second

	After Cursor // of the last item seen, zero for the first page
	Limit int    // items, from 1 to [MaxListed]
}

// MaxListed bounds the items of a page.
const MaxListed = 200

// ListRange bounds the time between From and Until where nothing else narrows a list.
const ListRange = 31 * 24 * time.Hour

// Cursor is a place in a list. Which of its parts say where depends on the way.
type Cursor struct {
	At idem.Instant
	ID idem.ID
}

// Listed is a page.
type Listed struct {
	Views   []View
	Cursors []Cursor // where each view stands
	Next    Cursor   // go on after it
	More    bool     // there may be more: a page can be short, or empty, before the last one
	Now     idem.Instant
	Lag     time.Duration
}

// ListWay is what serves a list.
type ListWay uint8

// The ways. A filter that none of them serves would read the whole table of events.
const (
	NoWay         ListWay = 0
	ByTerm        ListWay = 1 // a resource or a correlation, in the order of IDs
	ByUnfinished  ListWay = 2 // the list of unfinished work, by the time since when each is in its state
	ByFirstSeenAt ListWay = 3 // the minutes of first deliveries, in the order of IDs within each
)

// unfinishedStates are those that the list of unfinished work knows.
var unfinishedStates = []idem.State{
	idem.Received, idem.Processing, idem.FailedRetryable, idem.FailedTerminal, idem.DeadLettered, idem.Held, idem.BlockedLoop,
}

// standing are the states in which an event can be stuck.
var standing = []idem.State{idem.Received, idem.FailedRetryable, idem.Held, idem.BlockedLoop}

// Way says what serves the query, the narrowest first.
func (q *ListQuery) Way() ListWay {
	switch {
	case q.Correlation != "" || q.ResourceType != "" || q.ResourceID != "":
		return ByTerm
	case q.Stuck || q.ReplayFailed || len(q.States) > 0 && q.unfinished():
		return ByUnfinished
	case q.From != 0 && q.Until > q.From && q.Until.Sub(q.From) <= ListRange:
		return ByFirstSeenAt
	default:
		return NoWay
	}
}

func (q *ListQuery) unfinished() bool {
	return !slices.ContainsFunc(q.States, func(s idem.State) bool { return !slices.Contains(unfinishedStates, s) })
}

// Scanned are the stored states among which the list of unfinished work is searched, and
// whether claims whose lease is over may be among what is asked for.
func (q *ListQuery) Scanned() (states []idem.State, over bool) {
	switch {
	case q.ReplayFailed:
		states = append(slices.Clone(unfinishedStates), idem.Processed, idem.IgnoredStale, idem.IgnoredSelf)
	case q.Stuck:
		states = slices.Clone(standing)
	default:
		return q.States, !slices.Contains(q.States, idem.Processing)
	}
	if len(q.States) > 0 {
		states = slices.DeleteFunc(states, func(s idem.State) bool { return !slices.Contains(q.States, s) })
	}
	return states, !slices.Contains(states, idem.Processing)
}

// Matches reports whether a view, its record settled, is asked for, where the policy is
// the one for its event.
func (q *ListQuery) Matches(v *View, p *idem.Policy) bool {
	e := v.Event
	switch {
	case e.Key.Namespace != q.Namespace,
		q.Consumer != "" && e.Key.Consumer != q.Consumer,
		q.Source != "" && e.Key.Source != q.Source,
		len(q.States) > 0 && !slices.Contains(q.States, e.State),
		q.From != 0 && e.CreatedAt < q.From,
		q.Until != 0 && e.CreatedAt >= q.Until:
		return false
	case v.Damaged: // nothing more is known of it: somebody has to look
		return true
	case q.Type != "" && e.Facts.Type != q.Type,
		q.Correlation != "" && e.Facts.Correlation != q.Correlation,
		(q.ResourceType != "" || q.ResourceID != "") && !about(e, q.ResourceType, q.ResourceID),
		q.ReplayFailed && !e.ReplayFailed,
		q.Stuck && !v.Stuck(cmp.Or(q.StuckAfter, p.StuckAfter)):
		return false
	default:
		return true
	}
}

func about(e *idem.Event, kind, id string) bool {
	if e.Facts.ResourceType == kind && e.Facts.ResourceID == id {
		return true
	}
	return e.Ordering != nil && e.Ordering.Resource.Type == kind && e.Ordering.Resource.Name == id
}

// Stuck reports whether the event has stood still for so long, and goes on only when
// somebody comes from outside: a person, a delivery, the event that it waits for.
func (v *View) Stuck(after time.Duration) bool {
	since := v.StandsSince()
	return since != 0 && slices.Contains(standing, v.Event.State) && v.Now.Sub(since) >= after
}

// StandsSince is since when nothing has moved the event that could have, zero while
// something is under way or not due yet.
func (v *View) StandsSince() idem.Instant {
	e := v.Event
	switch e.State {
	case idem.Received, idem.FailedRetryable:
		switch {
		case e.DueAt > v.Now:
			return 0
		case e.DueAt != 0:
			return e.DueAt
		case e.Waiting.Kind != idem.NotWaiting:
			return e.WaitingSince
		}
	case idem.Held, idem.BlockedLoop:
		if e.ByExpiry { // since its lease ended, whoever wrote that down when
			return e.EndedAt
		}
	default:
		return 0
	}
	if v.Since != 0 && v.Since >= e.EndedAt {
		return v.Since
	}
	return max(e.CreatedAt, e.GrantedAt, e.EndedAt)
}

// compare orders places.
func (c Cursor) compare(o Cursor) int {
	return cmp.Or(cmp.Compare(c.At, o.At), bytes.Compare(c.ID[:], o.ID[:]))
}

// Before reports whether the place comes before another one.
func (c Cursor) Before(o Cursor) bool { return c.compare(o) < 0 }

// FirstSeenTerm is the hash under which the events of a namespace are to be found that were
// first delivered in a minute.
func FirstSeenTerm(namespace string, minute idem.Instant) int64 {
	return idem.Term(namespace, "first seen", "minute", strconv.FormatInt(int64(minute), 10))
}

// FirstSeenMinute is the minute of a first delivery, under which it is to be found.
func FirstSeenMinute(at idem.Instant) idem.Instant {
	return at - at%idem.Instant(time.Minute/time.Microsecond)
}
