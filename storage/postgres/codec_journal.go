package postgres

import (
	"slices"
	"strconv"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/tlv"
	"github.com/idemsvc/idemsvc/storage"
)

// encodeEntry is the canonical body of a journal entry: what happened, and, in a
// record's first entry, its full key and facts, so that the journal can be read without
// the tables.
func encodeEntry(n *idem.Entry, d *idem.Decision) []byte {
	w := tlv.NewWriter(codecVersion)
	w.Int(1, int64(n.From))
	w.Int(2, int64(n.To))
	w.Int(3, int64(n.Reason))
	w.Bool(4, n.Late)
	w.Int(5, int64(n.Attempt))
	w.Int(6, int64(n.Round))
	w.String(7, n.Claimant)
	w.String(8, n.Holder)
	failure(w, 9, n.Error)
	w.Bytes(10, idBytes(n.ResultHash))
	w.Strings(11, n.Outputs)
	w.String(12, n.Who)
	w.String(13, n.Why)
	w.String(14, n.Request)
	for _, l := range n.Applied {
		w.Group(15, func(g *tlv.Writer) { putLane(g, l) })
	}
	for _, t := range n.Also {
		w.Group(16, func(g *tlv.Writer) {
			g.Int(1, int64(t.Subject))
			g.Bytes(2, t.ID[:])
			g.Int(3, t.Seq)
			g.Int(4, int64(t.State))
		})
	}
	if n.First {
		putSubject(w, n, d)
	}
	return w.Out()
}

func putSubject(w *tlv.Writer, n *idem.Entry, d *idem.Decision) {
	switch n.Subject {
	case idem.OnEvent:
		e := d.Event.New
		w.String(20, e.Key.Namespace)
		w.String(21, e.Key.Consumer)
		w.String(22, e.Key.Source)
		w.String(23, e.Key.EventID)
		w.Group(24, func(g *tlv.Writer) { putFacts(g, &e.Facts) })
		if e.Ordering != nil {
			w.Group(25, func(g *tlv.Writer) { putOrdering(g, e.Ordering) })
		}
	case idem.OnResource:
		k := d.Resources[0].New.Key
		w.String(20, k.Namespace)
		w.String(21, k.Consumer)
		w.String(26, k.Type)
		w.String(27, k.Name)
	case idem.OnEffect:
		k := d.Effects[0].New.Key
		w.String(20, k.Namespace)
		w.String(21, k.Consumer)
		w.Int(28, int64(k.Scope))
		w.Bytes(29, idBytes(k.Event))
		w.String(30, k.Key)
	}
}

// terms are the hashes under which an entry's event is to be found, as an array literal;
// empty for none.
func terms(n *idem.Entry, d *idem.Decision) string {
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
			if e.Ordering != nil {
				add(ns, e.Ordering.Resource.Type, e.Ordering.Resource.Name)
			}
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
	if len(list) == 0 {
		return ""
	}
	buf := []byte{'{'}
	for i, t := range list {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = strconv.AppendInt(buf, t, 10)
	}
	return string(append(buf, '}'))
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
		}
	}
	return r.Err()
}
