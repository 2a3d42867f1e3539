package idem

import "slices"

// Receive keeps an event for later work: a receipt without a claim. What it brings is
// stored with the first receipt or claim of the key and never overwritten.
type Receive struct {
	Key      EventKey
	Facts    Facts // what this delivery says
	Holder   string
	Ordering *Ordering
	Stale    StaleClaim
	Payload  []byte // stored once per event ref and payload hash, when this is the first

	// Backfill: no delivery brings it, an operator does. Facts and Ordering are those of a
	// record that the service has of the event for another consumer.
	Backfill *Backfill
}

// Backfill is an operator's word that a consumer is to work on events which came before it
// did.
type Backfill struct {
	RequestID string
	Who, Why  string
}

// Subject implements [Command].
func (c *Receive) Subject() ID { return c.Key.ID() }

func (*Receive) command() {}

// ReceiveOutcome is the answer to a receipt, numbered as in the contract.
type ReceiveOutcome uint8

// The outcomes of a receipt.
const (
	ReceiveStored         ReceiveOutcome = 1 // durable, and to be worked on
	ReceiveDuplicate      ReceiveOutcome = 2 // known already; moves nothing
	ReceiveSelfOriginated ReceiveOutcome = 3
	ReceiveRejected       ReceiveOutcome = 4 // no record was read or written
	ReceiveMismatch       ReceiveOutcome = 5
)

var receiveOutcomeNames = [...]string{"", "RECEIVED", "DUPLICATE", "SELF_ORIGINATED", "REJECTED_SIGNATURE", "PAYLOAD_MISMATCH"}

// String is the outcome's name in the contract.
func (o ReceiveOutcome) String() string {
	if int(o) < len(receiveOutcomeNames) {
		return receiveOutcomeNames[o]
	}
	return "UNKNOWN"
}

// Advice is the advice that goes with the outcome. What is stored is acknowledged, whatever
// comes of it: the service remembers it from now on.
func (o ReceiveOutcome) Advice() Advice {
	if o == ReceiveRejected {
		return AdviceRepeatLater
	}
	return AdviceAcknowledge
}

// ReceiveAnswer answers [Receive].
type ReceiveAnswer struct {
	Outcome   ReceiveOutcome
	Event     *Event // the record after the command, nil with a rejected one
	Fresh     bool   // this command made the record
	Repeated  bool   // the arrival that the record keeps as its first: nothing changed
	Replaying bool   // a replay of a finished event is under way
	Anomalies []Anomaly
	Now       Instant
}

func (a *ReceiveAnswer) finish(now Instant, e *Event, _ int64) {
	a.Now = now
	if e != nil {
		a.Event = e
	}
}

// Disposition is what became of the delivery that this receipt brought.
func (a *ReceiveAnswer) Disposition() Disposition {
	switch {
	case a.Outcome == ReceiveRejected:
		return DispositionRejected
	case a.Outcome == ReceiveSelfOriginated:
		return DispositionSelf
	case a.Fresh, a.Repeated:
		return DispositionAccepted
	default:
		return DispositionDuplicate
	}
}

// decideReceive stores a first receipt and recognises every later one. Order is looked at
// when somebody is to work on the event, since until then it may change: a receipt only
// makes sure that it can be looked at.
func decideReceive(w *World, c *Receive, p *Policy) Decision {
	if w.Event != nil && w.Event.Key != c.Key {
		return refuse(&Error{Code: CodeKeyCollision, Field: "event", Detail: "another key has the same hash"})
	}
	a := &ReceiveAnswer{}
	d := Decision{Answer: a}
	if c.Backfill != nil {
		return c.backfill(w, p)
	}
	if c.Facts.Signature == SignatureFailed || (!c.Facts.Signature.genuine() && p.signatureRequired(w.SeenVerified)) {
		a.Outcome = ReceiveRejected
		return d
	}
	s := settled(w.Event, w.Now, p)
	a.Event = s
	a.Anomalies = anomalies(w, s, &c.Facts)
	if s != nil {
		a.known(s, c, p)
		return d
	}
	if p.selfOrigin(c.Facts.Origin) {
		dr := c.draft(w, p, &d)
		dr.enter(EntryIgnored, IgnoredSelf, NoReason, Entry{Holder: c.Holder})
		a.Outcome = ReceiveSelfOriginated
		return d
	}
	if err := c.order(w, p, &d); err != nil {
		return refuse(err)
	}
	dr := c.draft(w, p, &d)
	dr.arrive()
	dr.enter(EntryReceived, Received, NoReason, Entry{Holder: c.Holder})
	d.touchResources()
	a.Outcome = ReceiveStored
	return d
}

// backfill stores an event for a consumer that has none of it, as a receipt would. One that
// it has is left alone, whatever its state.
func (c *Receive) backfill(w *World, p *Policy) Decision {
	a := &ReceiveAnswer{Outcome: ReceiveStored}
	d := Decision{Answer: a}
	switch s := settled(w.Event, w.Now, p); {
	case s != nil && slices.Contains(s.ReplayIDs, c.Backfill.RequestID):
		a.Event, a.Repeated, a.Replaying = s, true, s.Replay
		return d
	case s != nil:
		return refuse(refuseReplay(ReplayReceived, "the consumer has the event already; its state is "+s.State.String()))
	case !c.Facts.Signature.genuine() && p.Signature == SignatureRequired: // by default, what had been let in is
		return refuse(refuseReplay(ReplayUnsigned, "the consumer's policy requires a signature, and the delivery's was not verified"))
	case p.selfOrigin(c.Facts.Origin):
		return refuse(refuseReplay(ReplaySelf, "the consumer had caused the event itself"))
	}
	if err := c.order(w, p, &d); err != nil {
		return refuse(err)
	}
	dr := c.draft(w, p, &d)
	dr.arrive()
	dr.ev.Backfill, dr.ev.ReplayIDs = true, []string{c.Backfill.RequestID}
	dr.enter(EntryReceived, Received, ByOperator, Entry{Who: c.Backfill.Who, Why: c.Backfill.Why, Request: c.Backfill.RequestID})
	d.touchResources()
	return d
}

// known answers a receipt of an event of which a record exists.
func (a *ReceiveAnswer) known(s *Event, c *Receive, p *Policy) {
	a.Replaying = s.Replay
	switch {
	case p.RefuseMismatch && mismatch(&s.Facts, &c.Facts):
		a.Outcome = ReceiveMismatch
	case s.Facts.RequestID != "" && s.Facts.RequestID == c.Facts.RequestID:
		a.Repeated = true
		a.Outcome = ReceiveStored
		if s.State == IgnoredSelf {
			a.Outcome = ReceiveSelfOriginated
		}
	default:
		a.Outcome = ReceiveDuplicate
	}
}

// order fixes the resource's series by its first use, and refuses what could never be
// granted: an event that nobody can claim must not be acknowledged.
func (c *Receive) order(w *World, p *Policy, d *Decision) *Error {
	o := c.Ordering
	if o == nil {
		return nil
	}
	if o.Transition != nil {
		if _, ok := p.Machines[o.Transition.Machine]; !ok {
			return &Error{Code: CodeUnknownMach, Field: "ordering.transition.machine", Detail: "no policy defines this state machine"}
		}
	}
	r := w.resource(o.Resource.ID(), o.Resource)
	if err := checkKind(r, o); err != nil {
		return err
	}
	if r.Mode == NoMode || r.Kind == NoVersion && o.Version.Kind != NoVersion {
		n := *r
		n.Kind, n.Mode = o.Version.Kind, o.Mode
		d.Resources = append(d.Resources, &ResourceWrite{Old: r, New: &n})
	}
	d.Member = memberOf(o, c.Subject())
	return nil
}

func (c *Receive) draft(w *World, p *Policy, d *Decision) *draft {
	e := &Event{Key: c.Key, Facts: c.Facts, Round: 1, Stale: c.Stale, Ordering: c.Ordering}
	if e.Stale == StaleByPolicy {
		e.Stale = p.Stale
	}
	e.Identify(c.Subject())
	d.Answer.(*ReceiveAnswer).Fresh = true //nolint:errcheck,forcetypeassert // its maker's
	dr := begin(w, p, d, nil, e)
	dr.main()
	return dr
}
