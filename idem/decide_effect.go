package idem

import (
	"bytes"
	"slices"
)

// effectCall is what BEGIN and RECORD have in common.
type effectCall struct {
	w    *World
	p    *Policy
	tok  *Token
	key  EffectKey
	hash []byte

	e   *Event  // the claim's record, nil without a token
	f   *Effect // the stored effect, or an absent one
	now EffectState
	d   Decision
	a   *EffectAnswer
}

func beginCall(w *World, p *Policy, tok *Token, key EffectKey, hash []byte) (*effectCall, *Error) {
	k := &effectCall{w: w, p: p, tok: tok, key: key.Scoped(), hash: hash, a: &EffectAnswer{}}
	k.d.Answer = k.a
	if key.Scope != EventScope && len(hash) == 0 {
		return nil, &Error{Code: CodeInvalid, Field: "request_hash", Detail: "required in CONSUMER and NAMESPACE scope: it tells the same operation from another one under the same key"}
	}
	if tok != nil {
		e, err := w.rights(tok, p)
		if err != nil {
			return nil, err
		}
		k.e = e
	}
	k.f = w.Effect
	if k.f == nil {
		k.f = &Effect{Key: k.key, Generation: 1}
	}
	if k.f.Key != k.key {
		return nil, &Error{Code: CodeKeyCollision, Field: "key", Detail: "another effect has the same hash"}
	}
	k.now = k.f.stateAt(w.Now)
	return k, nil
}

func (k *effectCall) answer(v EffectVerdict) Decision {
	k.a.Verdict = v
	if v != EffectMismatch && k.a.Effect == nil {
		k.a.Effect = k.f
	}
	return k.d
}

// differs reports whether the request is another one than the stored. In EVENT scope
// an absent hash gives no verdict.
func (k *effectCall) differs() bool {
	if len(k.hash) == 0 || len(k.f.RequestHash) == 0 {
		return false
	}
	return !bytes.Equal(k.hash, k.f.RequestHash)
}

// fits refuses a new effect or new bytes beyond what one event may have.
func (k *effectCall) fits(bytes int32) *Error {
	if k.e == nil {
		return nil
	}
	n, sum := k.e.Effects, bytes
	mine := k.f.Version > 0 && k.f.Event == k.e.ID()
	if !mine {
		n++
	}
	for _, f := range k.w.Effects {
		if f.ID() != k.f.ID() {
			sum += f.Bytes
		}
	}
	if n > MaxEffects {
		return &Error{Code: CodeEffectLimit, Field: "key", Detail: "one event has at most 256 side effects"}
	}
	if sum > MaxEffectBytes {
		return &Error{Code: CodeEffectLimit, Field: "key", Detail: "the side effects of one event hold at most 262144 bytes"}
	}
	return nil
}

// write changes the effect and, under a claim, its event record: whoever completes the
// event then sees that an effect was begun.
func (k *effectCall) write(n *Effect, lease When, kind EntryKind, began bool) {
	fw := &EffectWrite{Old: k.f, New: n, Lease: lease}
	k.d.Effects = append(k.d.Effects, fw)
	k.a.write = fw
	n.Bytes = int32(len(n.Intent) + len(n.Result) + len(n.Error.Message)) //nolint:gosec // limited at the edge to well below 2 GiB
	if k.e == nil {
		k.note(n, kind)
		return
	}
	mine := k.f.Version > 0 && k.f.Event == k.e.ID()
	n.Event, n.Fence = k.e.ID(), k.e.Fence
	dr := k.note(n, kind)
	if !mine {
		dr.ev.Effects++
	}
	if began {
		dr.ev.Began = true
	}
}

// note writes the entry about a changed effect: under a claim on the claim's event, whose
// record is written with it, so that a claim which ended meanwhile changes nothing.
func (k *effectCall) note(n *Effect, kind EntryKind) *draft {
	if k.e == nil {
		k.d.Entries = append(k.d.Entries, effectEntry(k.f, n, kind, k.p))
		return nil
	}
	dr := begin(k.w, k.p, &k.d, k.w.Event, nil)
	dr.ew.Live = true
	dr.enter(kind, Processing, dr.ev.Reason, Entry{})
	dr.main()
	k.d.touchEffects()
	return dr
}

func effectEntry(old, n *Effect, kind EntryKind, p *Policy) Entry {
	return Entry{
		Kind: kind, Subject: OnEffect, ID: old.ID(), Seq: old.Version + 1, First: old.Version == 0, Policy: p.Version,
		From: State(old.State), To: State(n.State), Attempt: int32(len(n.Tries)), Round: n.Generation, Error: n.Error, //nolint:gosec // at most MaxTries
		ResultHash: Digest(n.ContentType, string(n.Result)),
	}
}

func decideBegin(w *World, c *BeginEffect, p *Policy) Decision {
	k, err := beginCall(w, p, c.Token, c.Key, c.RequestHash)
	if err != nil {
		return refuse(err)
	}
	if w.guess() && k.f.Version > 0 {
		return reread()
	}
	switch k.now {
	case EffectDone:
		if k.differs() {
			return k.answer(EffectMismatch)
		}
		return k.answer(EffectAlreadyDone)
	case EffectBegun:
		if k.differs() {
			return k.answer(EffectMismatch)
		}
		if last := k.f.last(); last != nil && last.Begin == c.BeginID {
			k.a.Repeat = true
			k.perform(k.f)
			return k.answer(EffectPerform)
		}
		return k.answer(EffectInProgress)
	case EffectUnknown:
		if k.differs() {
			return k.answer(EffectMismatch)
		}
		if k.f.OnUnknown == UnknownHold || c.OnUnknown == UnknownHold {
			return k.holds(c)
		}
	case EffectAbsent, EffectNotDone:
	}
	for i := range k.f.Tries {
		if k.f.Tries[i].Begin == c.BeginID {
			// A ghost of a try that was reported on: nobody would perform it.
			return refuse(&Error{Code: CodeEffectLost, Field: "begin_id", Detail: "this try has ended; a new try needs a begin_id of its own"})
		}
	}
	if len(k.f.Tries) >= MaxTries {
		return refuse(&Error{Code: CodeEffectLimit, Field: "key", Detail: "one generation of an effect has at most 64 tries"})
	}
	return k.tryAgain(c)
}

// holds answers OUTCOME_UNKNOWN, tightening the stored decision when the caller is
// stricter.
func (k *effectCall) holds(c *BeginEffect) Decision {
	if c.OnUnknown == UnknownHold && k.f.OnUnknown == UnknownRetry {
		n := k.f.clone()
		n.OnUnknown = UnknownHold
		fw := &EffectWrite{Old: k.f, New: n}
		k.d.Effects = append(k.d.Effects, fw)
		k.a.write = fw
		k.note(n, EntryEffect)
	}
	return k.answer(EffectOutcomeOpen)
}

// tryAgain begins a try.
func (k *effectCall) tryAgain(c *BeginEffect) Decision {
	n := k.f.clone()
	if k.f.State == EffectNotDone && k.differs() {
		n.Generation++ // another request after NOT_DONE is another operation
		n.Tries, n.Intent = nil, nil
		n.OnUnknown = UnknownByPolicy
	}
	earlier := n.Intent
	if len(c.RequestHash) > 0 {
		n.RequestHash = c.RequestHash
	}
	if n.OnUnknown == UnknownByPolicy {
		n.OnUnknown = c.OnUnknown
		if n.OnUnknown == UnknownByPolicy {
			n.OnUnknown = k.p.OnUnknown
		}
	} else if c.OnUnknown == UnknownHold {
		n.OnUnknown = UnknownHold
	}
	n.State, n.Target, n.Intent = EffectBegun, c.Target, c.Intent
	n.Error = Failure{}
	n.Tries = append(n.Tries, Try{Number: int32(len(n.Tries)) + 1, Nonce: c.Nonce, Begin: c.BeginID, Open: true}) //nolint:gosec // at most MaxTries
	if err := k.fits(int32(len(n.Intent))); err != nil {                                                          //nolint:gosec // limited at the edge
		return refuse(err)
	}
	if k.w.guess() && k.e != nil && k.e.Effects > 0 {
		return reread()
	}
	lease := c.Lease
	if lease <= 0 {
		lease = k.p.EffectLease
	}
	k.write(n, In(max(MinLease, min(lease, MaxLeaseCeiling))), EntryEffect, true)
	k.perform(n)
	k.a.Earlier = earlier
	return k.answer(EffectPerform)
}

// perform fills in what whoever performs the last try is given.
func (k *effectCall) perform(f *Effect) {
	t := f.last()
	k.a.Effect = f
	k.a.Attempt = t.Number
	k.a.Token = EffectToken{Namespace: f.Key.Namespace, Effect: f.ID(), Generation: f.Generation, Number: t.Number, Nonce: t.Nonce}
}

func decideRecord(w *World, c *RecordEffect, p *Policy) Decision {
	k, err := beginCall(w, p, c.Token, c.Key, c.RequestHash)
	if err != nil {
		return refuse(err)
	}
	if w.guess() && (k.f.Version > 0 || (k.e != nil && k.e.Effects > 0)) {
		return reread()
	}
	switch k.now {
	case EffectDone:
		if k.differs() {
			return k.answer(EffectMismatch)
		}
		return k.answer(EffectAlreadyDone)
	case EffectBegun:
		if k.differs() {
			return k.answer(EffectMismatch)
		}
		if k.e == nil || k.f.Event != k.e.ID() || k.f.Fence != k.e.Fence {
			return k.answer(EffectInProgress)
		}
	case EffectUnknown:
		if k.differs() {
			return k.answer(EffectMismatch)
		}
		return k.answer(EffectOutcomeOpen)
	case EffectAbsent, EffectNotDone:
	}
	if err := k.fits(int32(len(c.Result))); err != nil { //nolint:gosec // limited at the edge
		return refuse(err)
	}
	n := k.f.clone()
	if k.f.State == EffectNotDone && k.differs() {
		n.Generation++
		n.Tries = nil
	}
	if len(c.RequestHash) > 0 {
		n.RequestHash = c.RequestHash
	}
	n.done(c.Result, c.ContentType)
	n.Target = c.Target
	k.write(n, Clear(), EntryEffect, false)
	return k.answer(EffectRecorded)
}

func (e *Effect) done(result []byte, contentType string) {
	e.State, e.Result, e.ContentType, e.Error = EffectDone, result, contentType, Failure{}
	for i := range e.Tries {
		e.Tries[i].Open = false
	}
}

// decideReport records how a try ended. It is a fact: the effect token alone decides,
// also after the claim is lost.
func decideReport(w *World, c *ReportEffect, p *Policy) Decision {
	f := w.Effect
	if f == nil || f.Key.Namespace != c.Token.Namespace || f.Generation < c.Token.Generation {
		return refuse(errEffectLost())
	}
	if f.Generation > c.Token.Generation {
		return earlierGeneration(w, c, p)
	}
	t := f.try(c.Token.Number, c.Token.Nonce)
	if t == nil {
		return refuse(errEffectLost())
	}
	current := t == f.last()
	k := &effectCall{w: w, p: p, f: f, key: f.Key, a: &EffectAnswer{Token: c.Token, Attempt: t.Number}}
	k.d.Answer = k.a
	if f.State == EffectDone {
		return k.afterDone(c)
	}
	if f.State == EffectBegun && c.State != EffectUnknown {
		k.a.lease = f.LeaseUntil
	}
	switch c.State {
	case EffectDone:
		n := f.clone()
		n.done(c.Result, c.ContentType)
		return k.report(n, Clear(), EffectReportedDone)
	case EffectNotDone:
		switch {
		case f.State == EffectNotDone:
			k.a.Repeat = true
			return k.answer(EffectReportedNot)
		case !current:
			return refuse(errEffectLost())
		case !t.Open:
			k.a.Repeat = true
			return k.answer(EffectOutcomeOpen)
		}
		n := f.clone()
		n.last().Open = false
		n.State, n.Error = EffectNotDone, c.Error
		for _, earlier := range n.Tries {
			if earlier.Open {
				n.State = EffectUnknown
			}
		}
		if n.State == EffectUnknown {
			return k.report(n, Clear(), EffectOutcomeOpen)
		}
		return k.report(n, Clear(), EffectReportedNot)
	default:
		switch {
		case f.State == EffectNotDone:
			return k.answer(EffectReportedNot)
		case w.guess():
			return reread()
		case f.stateAt(w.Now) == EffectUnknown:
			k.a.Repeat = true
			return k.answer(EffectOutcomeOpen)
		case !current:
			return refuse(errEffectLost())
		}
		n := f.clone()
		n.State, n.Error = EffectUnknown, c.Error
		return k.report(n, Clear(), EffectOutcomeOpen)
	}
}

// earlierGeneration refuses a report on a try whose effect another request has taken over
// meanwhile. That something was done is a fact all the same: it is written down.
func earlierGeneration(w *World, c *ReportEffect, p *Policy) Decision {
	d := refuse(errEffectLost())
	f := w.Effect
	if c.State != EffectDone || f.Conflict(c) {
		return d
	}
	n := f.clone()
	n.Conflicts = append(slices.Clone(f.Conflicts), c.hash())
	d.Effects = []*EffectWrite{{Old: f, New: n}}
	d.Entries = []Entry{effectEntry(f, n, EntryEffectConflict, p)}
	return d
}

// afterDone answers a report on an effect that is done: the first value stands, and a
// contradiction is written down.
func (k *effectCall) afterDone(c *ReportEffect) Decision {
	f := k.f
	switch {
	case c.State == EffectDone && f.ContentType == c.ContentType && bytes.Equal(f.Result, c.Result):
		k.a.Repeat = true
		return k.answer(EffectReportedDone)
	case c.State == EffectUnknown:
		return k.answer(EffectAlreadyDone)
	}
	k.a.Conflict = true
	if f.Conflict(c) {
		return k.answer(EffectAlreadyDone)
	}
	n := f.clone()
	n.Conflicts = append(append([]ID(nil), f.Conflicts...), c.hash())
	k.d.Entries = append(k.d.Entries, effectEntry(f, n, EntryEffectConflict, k.p))
	fw := &EffectWrite{Old: f, New: n}
	k.d.Effects = append(k.d.Effects, fw)
	k.a.write = fw
	return k.answer(EffectAlreadyDone)
}

func (c *ReportEffect) hash() ID {
	return Digest("effect", effectStateNames[c.State%EffectState(len(effectStateNames))], c.ContentType, string(c.Result), c.Error.Code, c.Error.Message)
}

// Conflict reports whether this very contradiction has been written down, or as many
// as are kept.
func (e *Effect) Conflict(c *ReportEffect) bool {
	return slices.Contains(e.Conflicts, c.hash()) || len(e.Conflicts) >= MaxLateReports
}

func (k *effectCall) report(n *Effect, lease When, v EffectVerdict) Decision {
	n.Bytes = int32(len(n.Intent) + len(n.Result) + len(n.Error.Message)) //nolint:gosec // limited at the edge
	fw := &EffectWrite{Old: k.f, New: n, Lease: lease}
	k.d.Effects = append(k.d.Effects, fw)
	k.a.write = fw
	k.d.Entries = append(k.d.Entries, effectEntry(k.f, n, EntryEffect, k.p))
	return k.answer(v)
}

func errEffectLost() *Error {
	return &Error{Code: CodeEffectLost, Detail: "the effect token is not the current one of its effect"}
}
