package idem_test

import (
	"fmt"

	"github.com/idemsvc/idemsvc/idem"
)

// What an observer knows of signals: which events had been stored when a grant was given,
// and which versions completions have named. It knows nothing of fences.

// signals reports whether an event of the world is a signal.
func (n *node) signals(ev int) bool {
	e := n.ev[ev]
	return e != nil && e.Ordering != nil && e.Ordering.Mode == idem.Signal
}

// told is how a version stands to the newest that was fetched: newer, or answered by it. One
// that is not told, or that nothing has been fetched of, is neither.
func (w *resourceWatch) told(v idem.Version) (newer, answered bool) {
	if !w.done || v.Kind == idem.NoVersion {
		return false, false
	}
	cmp := v.Compare(w.max)
	return cmp > 0, cmp < 0 || cmp == 0 && v.Kind == idem.Sequence
}

// answered reports whether a fetch has seen what the signal tells of.
func (n *node) answered(ev int) bool {
	_, by := n.resw[0].told(n.ev[ev].Ordering.Version)
	return by || n.evw[ev].carried
}

// stored notes an event of which a record was made.
func (j *judge) stored(ev int16) { j.next.evw[ev].stored = true }

// signalGiven judges a grant of a signal, and notes what it will carry.
func (j *judge) signalGiven(gr *grant, o *idem.Ordering, e *idem.Event) {
	if j.n.signals(gr.ev) {
		j.need(!j.n.answered(gr.ev) || e.Replay, "one fetch answers all before it", "a signal was given that has been answered")
	} else {
		_, by := j.n.resw[0].told(o.Version)
		j.need(!by, "one fetch answers all before it", "a signal was given that tells of what was fetched")
	}
	for i := range j.n.dom.events {
		if j.n.evw[i].stored && i != gr.ev {
			gr.before |= 1 << i
		}
	}
}

// completion names a completion.
func completion(c *idem.Complete) string {
	s := "complete:" + string(c.Result)
	if c.Applied != nil {
		s += fmt.Sprintf("@%d", c.Applied.Value)
	}
	return s
}

// tooOld judges a refused completion that names what was fetched, and reports whether that
// is why: its own change is not in it.
func (j *judge) tooOld(gr *grant, c *idem.Complete) bool {
	v := j.n.ev[gr.ev].Ordering
	if c.Applied == nil || v == nil || v.Version.Kind == idem.NoVersion || c.Applied.Compare(v.Version) >= 0 {
		return false
	}
	j.need(j.d.Err.Code == idem.CodeInvalid && j.unchanged(), "news after the fetch is kept", "a fetch without the signal's own change was refused as %s", j.d.Err.Code)
	return true
}

// fetched judges a completion of a signal's claim: the version that it names, no other,
// counts as fetched, and those that it has answered end with it, none else.
func (j *judge) fetched(gr *grant, res int, c *idem.Complete) {
	w := &j.next.resw[res]
	if v := j.n.ev[gr.ev].Ordering.Version; c.Applied != nil {
		j.need(v.Kind == idem.NoVersion || c.Applied.Compare(v) >= 0, "news after the fetch is kept", "a fetch without the signal's own change completed it")
		if !w.done || c.Applied.Compare(w.max) > 0 {
			w.done, w.max = true, *c.Applied
		}
	}
	r := j.next.res[res]
	j.need(r.Applied == w.done && (!w.done || r.Current() == w.max), "P8 applied at completion", "version %d (applied: %v) is stored, %d was fetched (%v)", r.Value, r.Applied, w.max.Value, w.done)
	j.covered(gr, res)
	for i := range j.n.dom.events {
		e := j.n.settled(i)
		if i == gr.ev || e == nil || !j.n.signals(i) {
			continue
		}
		pending := (e.State == idem.Received || e.State == idem.FailedRetryable) && !e.Replay
		ends := pending && j.next.answered(i) && !j.n.blind
		j.need(ends == (j.next.ev[i] != j.n.ev[i]), "one fetch answers all before it", "event %d changed: %v, it was to end: %v", i, !ends, ends)
		j.need(!ends || j.next.ev[i].State == idem.IgnoredStale, "one fetch answers all before it", "event %d has been answered, and is %v", i, j.next.ev[i].State)
	}
}

// covered notes what a grant has carried: all that came before it, but what tells of a
// version that is newer than all that was fetched.
func (j *judge) covered(gr *grant, res int) {
	for i := range j.n.dom.events {
		if gr.before&(1<<i) == 0 || !j.n.signals(i) {
			continue
		}
		if newer, _ := j.next.resw[res].told(j.n.ev[i].Ordering.Version); !newer && !j.n.ev[i].Replay {
			j.next.evw[i].carried = true
		}
	}
}

// carriedOnes: a signal ends unfetched only where a completed grant has answered it, which
// it names.
func (j *judge) carriedOnes() {
	for i := range j.n.dom.events {
		e := j.next.ev[i]
		if e == nil || !j.next.signals(i) || e.State != idem.IgnoredStale || j.n.told(i) == idem.IgnoredStale {
			continue
		}
		by := j.n.at(e.CarriedBy)
		j.need(e.Reason == idem.Carried && by >= 0 && j.next.evw[by].done, "one fetch answers all before it", "event %d was carried by no completed grant", i)
		j.need(j.next.answered(i), "news after the fetch is kept", "event %d ended unfetched, and no fetch has answered it", i)
	}
}
