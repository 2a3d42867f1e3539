package postgres

import (
	"slices"

	"github.com/idemsvc/idemsvc/idem"
)

// tornResource reports whether the record of a resource, which is read after that of the
// event, tells of something that the event's does not: it seems to have happened between
// the two statements, and no rule makes sense of half of it.
func tornResource(e *idem.Event, r *idem.Resource) bool {
	if r == nil {
		return false
	}
	switch id := e.ID(); {
	case r.Owner == id && r.OwnerFence > e.Fence: // granted since
		return true
	case r.Owner == id && r.OwnerFence == e.Fence && !r.Owned && e.State == idem.Processing: // ended since
		return true
	case r.CoveredBy == id && r.Covered >= e.Fence && e.State != idem.Processed && e.SettledAs != idem.Processed: // completed since
		return true
	default:
		return r.Applied && r.AppliedBy == id && e.State != idem.Processed && e.SettledAs != idem.Processed // completed since
	}
}

// tornMembers reports whether a sequential resource, which is read after its recorded
// versions, has been given since to one that should be among them, or waits since for what
// is before such a one.
func (w *world) tornMembers(it *item, r *idem.Resource, members []idem.MemberEvent) bool {
	if r == nil || it.order.Mode != idem.Sequential {
		return false
	}
	if r.GapSince != 0 && !w.waited(it, r, members) {
		return true
	}
	owner := w.owners[r.Owner]
	if !r.Owned {
		return false
	}
	if owner == nil || owner.Ordering == nil || owner.ID() == it.subject() || owner.Ordering.Resource != r.Key {
		return false
	}
	v := owner.Ordering.Version
	return v.Epoch == it.order.Version.Epoch && v.Value < it.order.Version.Value && // it would be a predecessor
		!slices.ContainsFunc(members, func(m idem.MemberEvent) bool { return m.Event == r.Owner })
}

// waited reports whether somebody is known who waits for the resource's gap: another recorded
// version, or the item's own event since just then. Who else waits has a higher version, or
// came after the versions were read.
func (w *world) waited(it *item, r *idem.Resource, members []idem.MemberEvent) bool {
	e := w.events[it.subject()]
	return e != nil && e.WaitingSince == r.GapSince ||
		slices.ContainsFunc(members, func(m idem.MemberEvent) bool { return m.Event != it.subject() && m.State == idem.Received })
}

// tornEffect does the same for a side effect: the end of a claim leaves it unknown, and a
// later claim begins it anew.
func tornEffect(e *idem.Event, f *idem.Effect) bool {
	if f == nil || f.Event != e.ID() {
		return false
	}
	return f.Fence > e.Fence || f.State == idem.EffectUnknown && f.Fence == e.Fence && e.State == idem.Processing
}
