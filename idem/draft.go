package idem

// draft collects the changes of one decision.
type draft struct {
	w *World
	p *Policy
	d *Decision

	old *Event // as stored, nil for none
	ev  *Event // as it becomes
	ew  *EventWrite
}

// begin starts a draft on a stored record, or on a fresh one.
func begin(w *World, p *Policy, d *Decision, old, fresh *Event) *draft {
	dr := &draft{w: w, p: p, d: d, old: old}
	if old != nil {
		c := *old
		dr.ev = &c
	} else {
		dr.ev = fresh
	}
	dr.ew = &EventWrite{Old: old, New: dr.ev}
	return dr
}

// main makes the draft's record the decision's subject.
func (dr *draft) main() { dr.d.Event = dr.ew }

// enter moves the record to a state and writes the journal entry of it.
func (dr *draft) enter(kind EntryKind, to State, reason Reason, more Entry) *Entry {
	var base int64
	if dr.old != nil {
		base = dr.old.Version
	}
	dr.ew.Rises++
	more.Kind, more.Subject, more.ID, more.Seq = kind, OnEvent, dr.ev.ID(), base+dr.ew.Rises
	more.From, more.To, more.Reason = dr.ev.State, to, reason
	more.Policy = dr.p.Version
	more.Attempt, more.Round = dr.ev.Attempts, dr.ev.Round
	more.First = more.Seq == 1
	dr.ev.State, dr.ev.Reason = to, reason
	dr.d.Entries = append(dr.d.Entries, more)
	return &dr.d.Entries[len(dr.d.Entries)-1]
}

// resource is the pending write of a resource, begun when it is first asked for.
func (dr *draft) resource(id ID, key ResourceKey) *ResourceWrite {
	for _, rw := range dr.d.Resources {
		if rw.Old.Key.ID() == id {
			return rw
		}
	}
	old := dr.w.resource(id, key)
	c := *old
	rw := &ResourceWrite{Old: old, New: &c}
	dr.d.Resources = append(dr.d.Resources, rw)
	return rw
}

// touchResources notes the new row versions of resources on the main entry.
func (d *Decision) touchResources() {
	if len(d.Resources) == 0 {
		return
	}
	e := d.mainEntry()
	if e == nil {
		return
	}
	for _, rw := range d.Resources {
		if e.Subject == OnResource && e.ID == rw.Old.Key.ID() {
			continue
		}
		e.Also = append(e.Also, Touched{Subject: OnResource, ID: rw.Old.Key.ID(), Seq: rw.Old.Version + 1})
	}
}

// touchEffects does the same for side effects.
func (d *Decision) touchEffects() {
	e := d.mainEntry()
	if e == nil {
		return
	}
	for _, fw := range d.Effects {
		if e.Subject == OnEffect && e.ID == fw.Old.ID() {
			continue
		}
		e.Also = append(e.Also, Touched{Subject: OnEffect, ID: fw.Old.ID(), Seq: fw.Old.Version + 1, State: uint8(fw.New.State)})
	}
}

// mainEntry is the last entry about the decision's subject; followers are noted on it.
func (d *Decision) mainEntry() *Entry {
	if len(d.Entries) == 0 {
		return nil
	}
	return &d.Entries[len(d.Entries)-1]
}

// freeLanes gives up all lanes of the record, keeping the owner's names.
func (dr *draft) freeLanes() {
	for _, l := range dr.ev.Lanes {
		r := dr.w.Resources[l.Resource]
		if r == nil || !r.Owned || r.Owner != dr.ev.ID() || r.OwnerFence != dr.ev.Fence {
			continue // given on already, or its record is gone
		}
		dr.resource(l.Resource, ResourceKey{}).New.Owned = false
	}
}

// lanesStand reports whether every lane that the record's last grant reserved still
// names it: none was given on, even if it is free again now.
func (w *World) lanesStand(e *Event) bool {
	for _, l := range e.Lanes {
		r := w.Resources[l.Resource]
		if r == nil || r.Owner != e.ID() || r.OwnerFence != e.Fence {
			return false
		}
	}
	return true
}
