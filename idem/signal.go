package idem

// Signals are events that carry no state, only the news that the state of a resource has
// changed: whoever is granted one fetches the state. One fetch answers all that arrived
// before it began, so those need no grant of their own.
//
// What arrived before is told by numbers and not by clocks. Each signal draws a fence when it
// is stored, and each grant draws one. A signal whose fence is below the grant's was drawn,
// and thus told by the source, before the grant was answered and anything could be fetched:
// the grant carries it. One whose fence is above may tell of a change that the fetch missed.
// The resource keeps the fence of the last completed grant ([Resource.Covered]), in the
// completion's own write; a grant that fails, is given back or is lost leaves no trace.

// MaxFold bounds how many signals end with the completion that carried them. Of more, each
// ends when it is looked at next, or with the next completion about their resource.
const MaxFold = 1000

// Signals reports whether the event is a signal.
func (e *Event) Signals() bool { return e.Ordering != nil && e.Ordering.Mode == Signal }

// signals reports whether the lane is that of the signal itself, as opposed to one that its
// claim has reserved beside it.
func (e *Event) signals(l Lane) bool {
	return e.Signals() && e.Ordering.Resource.ID() == l.Resource
}

// arrive gives a signal its place among the others about its resource.
func (dr *draft) arrive() {
	if dr.ev.Signals() && dr.ev.Fence == 0 {
		dr.ew.Draw = true
	}
}

// carriedBy is the event whose completed grant has answered the signal, zero for none. s is
// the signal's record, nil where it has none yet.
func carriedBy(r *Resource, o *Ordering, s *Event) ID {
	if s != nil && s.Replay { // somebody wants it fetched again
		return ID{}
	}
	v := o.Version
	newer := false // than all that is known to have been fetched
	if v.Kind != NoVersion && r.Applied {
		// Of two changes with one instant the fetch may have seen only the first.
		cmp := v.Compare(r.Current())
		if cmp < 0 || cmp == 0 && v.Kind == Sequence {
			return r.AppliedBy
		}
		newer = cmp > 0
	}
	if s != nil && s.Fence != 0 && s.Fence < r.Covered && (!newer || s.Fence < r.Start) {
		return r.CoveredBy
	}
	return ID{}
}

// signal walks the last gates of a claim on a signal.
func (g *claimGate) signal(r *Resource, o *Ordering) Decision {
	if r.Applied {
		cur := r.Current()
		g.a.Current = &cur
	}
	if by := carriedBy(r, o, g.s); !by.IsZero() {
		g.carrier = by
		return g.end(EntryIgnored, IgnoredStale, Carried, OutcomeStale)
	}
	return g.lane(r, o, false)
}

// checkFetched refuses a version that the source cannot have told, and one that is older
// than what the signal itself tells of: its change is not in what was fetched.
func checkFetched(w *World, o *Ordering, v Version) *Error {
	if r := w.resource(o.Resource.ID(), o.Resource); r.Kind != NoVersion && r.Kind != v.Kind {
		return &Error{Code: CodeKindMismatch, Field: "applied_version", Detail: "the resource's series uses the other kind of version"}
	}
	if o.Version.Kind != NoVersion && v.Compare(o.Version) < 0 {
		return &Error{
			Code: CodeInvalid, Field: "applied_version",
			Detail: "what was fetched is older than what the signal tells of; fetch again, or fail the event as NOT_YET",
		}
	}
	return nil
}

// cover notes on the resource that the signal's grant has answered all that arrived before
// it. It gives the version that was fetched: none where that is not told, since a signal's
// own version is no proof of it.
func (dr *draft) cover(l Lane, fetched *Version) Version {
	r := dr.resource(l.Resource, ResourceKey{}).New
	if dr.ev.Fence > r.Covered {
		r.Covered, r.CoveredBy = dr.ev.Fence, dr.ev.ID()
	}
	if fetched == nil {
		if !r.Applied {
			r.Start = r.Covered
		}
		return Version{}
	}
	return *fetched
}

// fold ends the signals at hand that the completion has answered, in its own write. That
// they are answered is told by the resource alone; this only writes it down.
func (dr *draft) fold() {
	if !dr.ev.Signals() {
		return
	}
	var r *Resource
	for _, rw := range dr.d.Resources {
		if rw.Old.Key == dr.ev.Ordering.Resource {
			r = rw.New
		}
	}
	for _, e := range dr.w.Signals[:min(len(dr.w.Signals), MaxFold)] {
		pending := e.State == Received || e.State == FailedRetryable
		if r == nil || !pending || e.ID() == dr.ev.ID() || !e.Signals() || e.Ordering.Resource != r.Key {
			continue
		}
		by := carriedBy(r, e.Ordering, e)
		if by.IsZero() {
			continue
		}
		other := begin(dr.w, dr.w.policyOf(e, dr.p), dr.d, e, nil)
		other.ev.Waiting, other.ev.ByExpiry, other.ev.CarriedBy = Waiting{}, false, by
		other.ew.WaitingSince = Clear()
		other.enter(EntryIgnored, IgnoredStale, Carried, Entry{Carrier: by})
		dr.d.Owners = append(dr.d.Owners, other.ew)
	}
}
