package idem

import "fmt"

// Decide says what becomes of a command on the given records under the given rules.
// It is total and deterministic: every command on every record has an answer, and
// the same arguments give the same decision.
func Decide(w *World, c Command, p *Policy) Decision {
	if w.guess() && w.Event != nil && !w.lanesKnown(w.Event) {
		return reread()
	}
	switch c := c.(type) {
	case *Claim:
		return decideClaim(w, c, p)
	case *Complete:
		return decideComplete(w, c, p)
	case *Fail:
		return decideFail(w, c, p)
	case *Extend:
		return decideExtend(w, c, p)
	case *Release:
		return decideRelease(w, c, p)
	case *Settle:
		return decideSettle(w, p)
	case *Check:
		return decideCheck(w, c, p)
	case *BeginEffect:
		return decideBegin(w, c, p)
	case *ReportEffect:
		return decideReport(w, c, p)
	case *RecordEffect:
		return decideRecord(w, c, p)
	case *Resolve:
		return decideResolve(w, c, p)
	case *Replay:
		return decideReplay(w, c, p)
	case *ResolveEffect:
		return decideResolveEffect(w, c, p)
	case *Receive:
		return decideReceive(w, c, p)
	default:
		panic(fmt.Sprintf("idem: unknown command %T", c))
	}
}

// lanesKnown reports whether the records of the event's lanes are at hand, and as new as
// the event's.
func (w *World) lanesKnown(e *Event) bool {
	for _, l := range e.Lanes {
		r := w.Resources[l.Resource]
		if r == nil || !r.Owned || r.Owner != e.ID() || r.OwnerFence != e.Fence {
			return false
		}
	}
	return true
}

func refuse(err *Error) Decision { return Decision{Err: err} }

func reread() Decision { return Decision{Reread: true} }

// standing is what a token is worth.
type standing uint8

const (
	lost  standing = iota // a newer grant, an operator's decision or a lane given on stands against it
	alive                 // its claim is alive
	late                  // its lease is over and nothing stands against it
	ended                 // its owner ended it
)

// stand judges a token against the record. With late, the record is the settled one;
// with ended, past is the earlier attempt when it is not the record's last grant.
func (w *World) stand(t *Token, p *Policy) (st standing, e *Event, past *Attempt) {
	e = w.Event
	if e == nil || e.Key.Namespace != t.Namespace || e.Key.Consumer != t.Consumer {
		return lost, nil, nil
	}
	if e.Fence != t.Fence || e.Nonce != t.Nonce {
		if a := w.Past; a != nil && a.Fence == t.Fence && a.Nonce == t.Nonce {
			if a.End.byOwner() {
				return ended, e, a
			}
			return lost, e, a
		}
		return lost, e, nil
	}
	switch {
	case e.End.byOwner():
		return ended, e, nil
	case e.End == EndResolved || e.End == EndUndelivered:
		return lost, e, nil
	case e.live(w.Now):
		return alive, e, nil
	}
	s := settled(e, w.Now, p)
	if !s.ByExpiry || !w.lanesStand(e) {
		return lost, e, nil
	}
	return late, s, nil
}

// rights gives what only a live claim has, else the refusal.
func (w *World) rights(t *Token, p *Policy) (*Event, *Error) {
	st, e, past := w.stand(t, p)
	switch st {
	case alive:
		return e, nil
	case late:
		if e.Round != e.GrantRound { // an operator has begun a new round: there is nothing to extend
			return nil, errLost()
		}
		return nil, errExpired()
	case ended:
		if past != nil {
			return nil, errEnded(&Event{State: past.State}, past.End)
		}
		return nil, errEnded(e, e.End)
	default:
		return nil, errLost()
	}
}
