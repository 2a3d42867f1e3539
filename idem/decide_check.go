package idem

// MaxLanes bounds the resources that one claim can reserve.
const MaxLanes = 16

func decideCheck(w *World, c *Check, p *Policy) Decision {
	var e *Event
	if c.Ordering.Mode == Signal {
		return refuse(&Error{Code: CodeInvalid, Field: "mode", Detail: "a signal's version is told by the completion of its claim, as applied_version"})
	}
	if c.Token != nil {
		var err *Error
		if e, err = w.rights(c.Token, p); err != nil {
			return refuse(err)
		}
	} else if c.By.IsZero() {
		return refuse(&Error{Code: CodeInvalid, Field: "request_id", Detail: "without a claim token an event ref or a request ID is required: it makes the call safe to repeat"})
	} else if c.Ordering.Mode == Sequential {
		return refuse(&Error{Code: CodeInvalid, Field: "mode", Detail: "SEQUENTIAL needs a claim token: without one a crash between check and work would lose a version"})
	}
	o := &c.Ordering
	if o.Transition != nil {
		if _, ok := p.Machines[o.Transition.Machine]; !ok {
			return refuse(&Error{Code: CodeUnknownMach, Field: "transition.machine", Detail: "no policy defines this state machine"})
		}
	}
	id := o.Resource.ID()
	r := w.resource(id, o.Resource)
	if err := checkKind(r, o); err != nil {
		return refuse(err)
	}
	k := &check{w: w, c: c, p: p, r: r, e: e, by: c.By, a: &CheckAnswer{State: r.State}}
	if e != nil {
		k.by = e.ID()
	}
	k.d.Answer = k.a
	if r.Applied {
		cur := r.Current()
		k.a.Current = &cur
	}
	return k.decide(id, o)
}

// check is one version check.
type check struct {
	w  *World
	c  *Check
	p  *Policy
	r  *Resource
	e  *Event // the claim's record, nil without a token
	by ID
	d  Decision
	a  *CheckAnswer
}

func (k *check) answer(v Verdict) Decision {
	k.a.Verdict = v
	return k.d
}

func (k *check) decide(id ID, o *Ordering) Decision {
	if k.e != nil {
		for i, l := range k.e.Lanes {
			if l.Resource == id {
				return k.again(i, o)
			}
		}
		if len(k.e.Lanes) >= MaxLanes {
			return refuse(&Error{Code: CodeInvalid, Field: "resource", Detail: "one claim reserves at most 16 resources"})
		}
	}
	where, gp := locate(k.w, k.p, k.r, o, k.by, k.e != nil && k.e.Replay)
	switch where {
	case placeOlder, placeSkipped:
		return k.answer(VerdictStale)
	case placeTied:
		return k.answer(VerdictTied)
	case placeIllegal:
		return k.answer(VerdictIllegal)
	case placeGap:
		k.a.Expected, k.a.Blocker, k.a.Known = &gp.expected, gp.key, gp.state
		return k.answer(VerdictGap)
	case placeMine:
		if k.e == nil {
			k.a.LaneFence = k.r.LaneFence // a repeat gets its answer again
			return k.answer(VerdictApply)
		}
		if !k.e.Replay {
			return k.answer(VerdictAlready)
		}
	case placeNext:
	}
	me := ID{}
	if k.e != nil {
		me = k.e.ID()
	}
	busy, again := laneBusy(k.w, k.p, &k.d, k.r, me)
	if again {
		return reread()
	}
	if busy {
		k.a.Blocker = k.w.Owners[k.r.Owner].Key
		return k.answer(VerdictBusy)
	}
	if k.e == nil {
		return k.advance(o)
	}
	return k.reserve(o)
}

// again judges a second reservation of a resource by the same claim.
func (k *check) again(i int, o *Ordering) Decision {
	l := k.e.Lanes[i]
	k.a.LaneFence = k.r.LaneFence
	switch cmp := o.Version.Compare(l.Version); {
	case cmp == 0:
		return k.answer(VerdictApply)
	case cmp < 0:
		return k.answer(VerdictStale)
	}
	if o.Mode == Sequential {
		exp := l.Version
		k.a.Expected = &exp
		return k.answer(VerdictGap)
	}
	if where, _ := locate(k.w, k.p, k.r, o, k.by, k.e.Replay); where == placeIllegal {
		return k.answer(VerdictIllegal)
	}
	dr := begin(k.w, k.p, &k.d, k.e, nil)
	dr.ew.Live = true
	dr.ev.Lanes = append([]Lane(nil), k.e.Lanes...)
	dr.ev.Lanes[i] = k.w.laneOf(k.p, k.r, o, k.by)
	dr.enter(EntryVersionChecked, Processing, dr.ev.Reason, Entry{})
	dr.main()
	return k.answer(VerdictApply)
}

// laneOf is the reservation of a version by the event me.
func (w *World) laneOf(p *Policy, r *Resource, o *Ordering, me ID) Lane {
	l := Lane{Resource: o.Resource.ID(), Version: o.Version, Start: firstExpected(w, p, r, o.Version, me)}
	if o.Transition != nil {
		l.Machine, l.To = o.Transition.Machine, o.Transition.To
	}
	return l
}

// reserve takes the resource's lane for the claim; the version is applied when the
// claim completes.
func (k *check) reserve(o *Ordering) Decision {
	if k.w.guess() && k.r.Version == 0 {
		return reread()
	}
	rw := takeLane(k.w, &k.d, k.r, o)
	rw.Lane = true
	rw.New.Owned, rw.New.Owner, rw.New.OwnerFence = true, k.e.ID(), k.e.Fence
	dr := begin(k.w, k.p, &k.d, k.e, nil)
	dr.ew.Live = true
	dr.ev.Lanes = append(append([]Lane(nil), k.e.Lanes...), k.w.laneOf(k.p, k.r, o, k.by))
	dr.enter(EntryVersionChecked, Processing, dr.ev.Reason, Entry{})
	dr.main()
	k.d.touchResources()
	return k.answer(VerdictApply)
}

// advance applies the version at once. The lane is given on and freed in one step, so
// that a late report of its last owner cannot lower what it did.
func (k *check) advance(o *Ordering) Decision {
	rw := takeLane(k.w, &k.d, k.r, o)
	n := rw.New
	if !n.Applied || o.Version.Epoch != n.Epoch {
		n.Start = o.Version.Value
	}
	n.Applied, n.Epoch, n.Value, n.AppliedBy = true, o.Version.Epoch, o.Version.Value, k.by
	n.Print = nil
	n.Owned, n.Owner, n.OwnerFence = false, ID{}, 0
	if o.Transition != nil {
		n.Machine, n.State = o.Transition.Machine, o.Transition.To
	}
	rw.Lane = true
	rw.GapSince = Clear()
	k.a.State = n.State
	k.d.Entries = append(k.d.Entries, Entry{
		Kind: EntryVersionChecked, Subject: OnResource, ID: k.r.Key.ID(), Seq: k.r.Version + 1, Policy: k.p.Version,
		First: k.r.Version == 0, Applied: []Lane{k.w.laneOf(k.p, k.r, o, k.by)},
	})
	return k.answer(VerdictApply)
}
