package postgres

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/tlv"
	"github.com/idemsvc/idemsvc/storage"
)

// block is one row of the journal: the entries of all commands that one statement writes,
// encoded before it is known which of them succeed. The statement adds a head for each
// that did: the ID that leads it and its fence. A row for each entry would cost as much as
// the writes that it tells of.
type block struct{ w *tlv.Writer }

func newBlock() block { return block{tlv.NewWriter(codecVersion)} }

// add encodes the entries of a decision and returns the ID that leads them: no other
// command of the statement writes that record.
func (b block) add(d *idem.Decision) idem.ID {
	if len(d.Entries) == 0 {
		return idem.ID{}
	}
	lead := d.Entries[0].ID
	for i := range d.Entries {
		b.w.Group(1, func(g *tlv.Writer) { putEntry(g, &d.Entries[i], d, lead) })
	}
	return lead
}

func (b block) out() []byte { return b.w.Out() }

// putEntry is the canonical form of a journal entry: what happened, and, in a record's
// first entry, its full key and facts, so that the journal can be read without the tables.
func putEntry(w *tlv.Writer, n *idem.Entry, d *idem.Decision, lead idem.ID) {
	w.Bytes(1, n.ID[:])
	w.Int(2, n.Seq)
	w.Int(3, int64(n.Subject))
	w.Int(4, int64(n.Kind))
	w.Int(5, int64(n.From))
	w.Int(6, int64(n.To))
	w.Int(7, int64(n.Reason))
	w.Int(8, int64(n.Policy))
	w.Bool(9, n.Late)
	w.Int(10, int64(n.Attempt))
	w.Int(11, int64(n.Round))
	w.String(12, n.Claimant)
	w.String(13, n.Holder)
	failure(w, 14, n.Error)
	w.Bytes(15, idBytes(n.ResultHash))
	w.Strings(16, n.Outputs)
	w.String(17, n.Who)
	w.String(18, n.Why)
	w.String(19, n.Request)
	for _, l := range n.Applied {
		w.Group(20, func(g *tlv.Writer) { putLane(g, l) })
	}
	for _, t := range n.Also {
		w.Group(21, func(g *tlv.Writer) {
			g.Int(1, int64(t.Subject))
			g.Bytes(2, t.ID[:])
			g.Int(3, t.Seq)
			g.Int(4, int64(t.State))
		})
	}
	if n.First {
		putSubject(w, n, d)
	}
	w.Bytes(33, idBytes(n.Carrier))
	if lead != n.ID {
		w.Bytes(40, lead[:])
	}
	// What the reader behind the journal needs: when somebody is needed next, in the code
	// of [idem.When] but one higher where it counts from the entry's moment, and the hashes
	// under which the event is to be found.
	if due := dueOf(n, d); due >= 0 {
		w.Int(41, due+1)
	} else if due != -2 {
		w.Int(41, due)
	}
	if list := terms(n, d); len(list) > 0 {
		buf := make([]byte, 0, 8*len(list))
		for _, t := range list {
			buf = binary.BigEndian.AppendUint64(buf, uint64(t)) //nolint:gosec // a hash
		}
		w.Bytes(42, buf)
	}
	if e := orderedBy(n, d); e != nil { // which lane the event stands in, and where
		epoch, value := rankOf(e)
		lane := e.Ordering.Resource.ID()
		w.Group(43, func(g *tlv.Writer) {
			g.Bytes(1, lane[:])
			g.Int(2, epoch)
			g.Int(3, value)
			g.Bool(4, e.Signals() && writeOf(n, d).Draw) // the head knows the fence
		})
	}
	if o := writeOf(n, d); o != nil && reopens(n) { // its facts are in an entry that was read long ago
		w.String(44, o.New.Facts.Type)
	}
}

// reopens reports whether an entry is about an event that may have been over for good.
func reopens(n *idem.Entry) bool {
	switch n.From {
	case idem.Processed, idem.IgnoredStale, idem.IgnoredSelf, idem.FailedTerminal:
		return true
	default:
		return false
	}
}

func putSubject(w *tlv.Writer, n *idem.Entry, d *idem.Decision) {
	switch n.Subject {
	case idem.OnEvent:
		e := d.Event.New
		w.String(22, e.Key.Namespace)
		w.String(23, e.Key.Consumer)
		w.String(24, e.Key.Source)
		w.String(25, e.Key.EventID)
		w.Group(26, func(g *tlv.Writer) { putFacts(g, &e.Facts) })
		if e.Ordering != nil {
			w.Group(27, func(g *tlv.Writer) { putOrdering(g, e.Ordering) })
		}
	case idem.OnResource:
		k := d.Resources[0].New.Key
		w.String(22, k.Namespace)
		w.String(23, k.Consumer)
		w.String(28, k.Type)
		w.String(29, k.Name)
	case idem.OnEffect:
		k := d.Effects[0].New.Key
		w.String(22, k.Namespace)
		w.String(23, k.Consumer)
		w.Int(30, int64(k.Scope))
		w.Bytes(31, idBytes(k.Event))
		w.String(32, k.Key)
	}
}

// dueOf is when the subject of an entry needs somebody next: the end of its lease, or
// the moment when it may be claimed again; in the code of [idem.When], -2 for never.
func dueOf(n *idem.Entry, d *idem.Decision) int64 {
	w := writeOf(n, d)
	if w == nil {
		return -2
	}
	when, old := w.Due, w.New.DueAt
	switch n.To {
	case idem.Processing:
		when, old = w.Lease, w.New.LeaseUntil
	case idem.FailedRetryable, idem.Received:
	default:
		return -2
	}
	switch code := when.Code(); {
	case code != -1 && code != -2:
		return code
	case code == -1 && old != 0:
		return -int64(old)
	default:
		return 0
	}
}

// writeOf is the write of the event that an entry is about, nil where it is about none.
func writeOf(n *idem.Entry, d *idem.Decision) *idem.EventWrite {
	if n.Subject != idem.OnEvent {
		return nil
	}
	for _, o := range d.Owners {
		if o.New.ID() == n.ID {
			return o
		}
	}
	return d.Event
}

// orderedBy is the event of an entry if it is ordered about a resource.
func orderedBy(n *idem.Entry, d *idem.Decision) *idem.Event {
	if w := writeOf(n, d); w != nil && w.New.Ordering != nil {
		return w.New
	}
	return nil
}

// rankOf is an event's place among those about its resource: whose rank is lower is to be
// granted first. Under LATEST_WINS that is the newest, under SIGNAL what came last.
func rankOf(e *idem.Event) (epoch, value int64) {
	o := e.Ordering
	if e.Signals() {
		return 0, ^e.Fence
	}
	if o.Mode == idem.LatestWins {
		return ^o.Version.Epoch, ^o.Version.Value // turned about, without an overflow
	}
	return o.Version.Epoch, o.Version.Value
}

// headSize is the length of a head: the ID that leads a command, and its fence.
const headSize = 24

// journaled is what the reader behind the journal needs of an entry.
type journaled struct {
	at      idem.Instant
	id      idem.ID
	seq     int64
	subject idem.Subject
	kind    idem.EntryKind
	to      idem.State
	due     idem.Instant // zero for never
	terms   []int64
	typ     string // of the event, where the entry tells it

	lane      idem.ID // the resource that orders the event, zero for none
	rankEpoch int64
	rankValue int64
	rankDrawn bool      // its place is told by the fence that was drawn
	resources []idem.ID // that changed along with it
}

// readBlock reads the entries of the commands that were carried out.
func readBlock(at idem.Instant, heads, body []byte) ([]journaled, error) {
	if len(heads)%headSize != 0 {
		return nil, tlv.ErrCorrupt
	}
	won := make(map[idem.ID]int64, len(heads)/headSize)
	for h := heads; len(h) > 0; h = h[headSize:] {
		won[id16(h[:16])] = int64(binary.BigEndian.Uint64(h[16:headSize])) //nolint:gosec // written from the same type
	}
	out := make([]journaled, 0, len(won))
	r := tlv.NewReader(body, codecVersion)
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		if f.Tag != 1 {
			continue
		}
		n, lead, err := readEntry(at, f.Sub())
		if err != nil {
			return nil, err
		}
		if fence, ok := won[lead]; ok {
			if n.rankDrawn {
				n.rankValue = ^fence
			}
			out = append(out, n)
		}
	}
	return out, r.Err()
}

func readEntry(at idem.Instant, r *tlv.Reader) (n journaled, lead idem.ID, err error) {
	n.at = at
	namespace := ""
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		switch f.Tag {
		case 1:
			n.id = id16(f.Value)
			lead = n.id
		case 2:
			n.seq = f.Int()
		case 3:
			n.subject = idem.Subject(f.Int()) //nolint:gosec // written from the same type
		case 4:
			n.kind = idem.EntryKind(f.Int()) //nolint:gosec // written from the same type
		case 6:
			n.to = idem.State(f.Int()) //nolint:gosec // written from the same type
		case 22:
			namespace = f.String()
		case 21:
			if subject, id := readTouched(f.Sub()); subject == idem.OnResource {
				n.resources = append(n.resources, id)
			}
		case 40:
			lead = id16(f.Value)
		case 41:
			if code := f.Int(); code > 0 {
				n.due = at.Add(time.Duration(code-1) * time.Microsecond)
			} else {
				n.due = idem.Instant(-code)
			}
		case 42:
			for b := f.Value; len(b) >= 8; b = b[8:] {
				n.terms = append(n.terms, int64(binary.BigEndian.Uint64(b))) //nolint:gosec // a hash
			}
		case 43:
			n.readRank(f.Sub())
		case 26:
			n.typ = readType(f.Sub())
		case 44:
			n.typ = f.String()
		}
	}
	if n.subject == idem.OnEvent && n.seq == 1 && namespace != "" {
		n.terms = append(n.terms, storage.FirstSeenTerm(namespace, storage.FirstSeenMinute(at)))
	}
	return n, lead, r.Err()
}

// causeTerm is the hash under which the events are to be found that name another as their
// cause.
func causeTerm(namespace, source, eventID string) int64 {
	return idem.Term(namespace, "cause", source, eventID)
}

func readTouched(r *tlv.Reader) (subject idem.Subject, id idem.ID) {
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		switch f.Tag {
		case 1:
			subject = idem.Subject(f.Int()) //nolint:gosec // written from the same type
		case 2:
			id = id16(f.Value)
		}
	}
	return subject, id
}

// readType reads the type of an event out of its facts.
func readType(r *tlv.Reader) string {
	for f, ok := r.Next(); ok && f.Tag <= 2; f, ok = r.Next() {
		if f.Tag == 2 {
			return f.String()
		}
	}
	return ""
}

func (n *journaled) readRank(r *tlv.Reader) {
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		switch f.Tag {
		case 1:
			n.lane = id16(f.Value)
		case 2:
			n.rankEpoch = f.Int()
		case 3:
			n.rankValue = f.Int()
		case 4:
			n.rankDrawn = f.Bool()
		}
	}
}

// terms are the hashes under which an entry's event is to be found.
func terms(n *idem.Entry, d *idem.Decision) []int64 {
	var list []int64
	add := func(ns string, parts ...string) {
		if parts[len(parts)-1] == "" {
			return
		}
		if t := idem.Term(ns, parts...); !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	if n.Subject == idem.OnEvent && d.Event != nil && d.Event.New.ID() == n.ID {
		e := d.Event.New
		ns := e.Key.Namespace
		if n.First {
			add(ns, e.Key.EventID)
			add(ns, e.Facts.Correlation)
			add(ns, e.Facts.RequestID)
			add(ns, e.Facts.ResourceType, e.Facts.ResourceID)
			if e.Facts.CauseEventID != "" {
				list = append(list, causeTerm(ns, e.Facts.CauseSource, e.Facts.CauseEventID))
			}
		}
		if e.Ordering != nil && (n.First || (d.Event.Old != nil && d.Event.Old.Ordering == nil)) {
			add(ns, e.Ordering.Resource.Type, e.Ordering.Resource.Name)
		}
		for _, o := range n.Outputs {
			add(ns, o)
		}
	}
	if n.Kind == idem.EntryEffect {
		for _, f := range d.Effects {
			if f.Old.Version == 0 || f.Old.Event != f.New.Event {
				add(f.New.Key.Namespace, f.New.Key.Key)
			}
		}
	}
	return list
}

func encodeDelivery(d *storage.Delivery) []byte {
	w := tlv.NewWriter(codecVersion)
	w.String(1, d.Key.Namespace)
	w.String(2, d.Key.Consumer)
	w.String(3, d.Key.Source)
	w.String(4, d.Key.EventID)
	w.String(5, d.RequestID)
	w.Int(6, int64(d.Kind))
	w.Int(7, int64(d.Attempt))
	w.Int(8, int64(d.Signature))
	headers(w, 9, d.Headers)
	w.Int(10, d.ReceivedAt)
	w.Bytes(11, d.PayloadHash)
	w.String(12, d.TraceParent)
	w.Int(13, int64(d.Disposition))
	w.Int(14, int64(d.Outcome))
	for _, a := range d.Anomalies {
		w.Group(15, func(g *tlv.Writer) { g.Int(1, int64(a)) })
	}
	w.Int(16, int64(d.Answered.HTTPStatus))
	w.Int(17, d.Answered.At)
	return w.Out()
}

func decodeDelivery(b []byte, d *storage.Delivery) error {
	r := tlv.NewReader(b, codecVersion)
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		switch f.Tag {
		case 1:
			d.Key.Namespace = f.String()
		case 2:
			d.Key.Consumer = f.String()
		case 3:
			d.Key.Source = f.String()
		case 4:
			d.Key.EventID = f.String()
		case 5:
			d.RequestID = f.String()
		case 6:
			d.Kind = idem.DeliveryKind(f.Int())
		case 7:
			d.Attempt = f.Int32()
		case 8:
			d.Signature = idem.Signature(f.Int())
		case 9:
			d.Headers = append(d.Headers, getHeader(f.Sub()))
		case 10:
			d.ReceivedAt = f.Int()
		case 11:
			d.PayloadHash = f.Bytes()
		case 12:
			d.TraceParent = f.String()
		case 13:
			d.Disposition = idem.Disposition(f.Int())
		case 14:
			d.Outcome = idem.Outcome(f.Int())
		case 15:
			a, _ := f.Sub().Next()
			d.Anomalies = append(d.Anomalies, idem.Anomaly(a.Int()))
		case 16:
			d.Answered.HTTPStatus = f.Int32()
		case 17:
			d.Answered.At = f.Int()
		}
	}
	return r.Err()
}
