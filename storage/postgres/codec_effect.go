package postgres

import (
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/tlv"
)

func encodeAttempt(a *idem.Attempt) []byte {
	w := tlv.NewWriter(codecVersion)
	w.Int(1, int64(a.Round))
	w.Int(2, int64(a.Number))
	w.String(3, a.Claimant)
	w.String(4, a.Holder)
	w.Int(5, int64(a.End))
	w.Bytes(6, idBytes(a.EndHash))
	w.Bytes(7, a.AttemptHash)
	failure(w, 8, a.Error)
	w.Bytes(9, a.Result)
	w.String(10, a.ContentType)
	w.Int(11, int64(a.State))
	w.Bool(12, a.EndLate)
	w.Bool(13, a.EndFree)
	w.String(14, a.EndWhy)
	w.Bool(15, a.Replay)
	for _, l := range a.Late {
		w.Group(16, func(g *tlv.Writer) { putLate(g, l) })
	}
	w.Int(17, int64(a.EndCount))
	w.String(18, a.Trace)
	return w.Out()
}

func decodeAttempt(b []byte, a *idem.Attempt) error {
	r := tlv.NewReader(b, codecVersion)
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		switch f.Tag {
		case 1:
			a.Round = f.Int32()
		case 2:
			a.Number = f.Int32()
		case 3:
			a.Claimant = f.String()
		case 4:
			a.Holder = f.String()
		case 5:
			a.End = idem.EndKind(f.Int())
		case 6:
			a.EndHash = id16(f.Value)
		case 7:
			a.AttemptHash = f.Bytes()
		case 8:
			a.Error = getFailure(f.Sub())
		case 9:
			a.Result = f.Bytes()
		case 10:
			a.ContentType = f.String()
		case 11:
			a.State = idem.State(f.Int())
		case 12:
			a.EndLate = f.Bool()
		case 13:
			a.EndFree = f.Bool()
		case 14:
			a.EndWhy = f.String()
		case 15:
			a.Replay = f.Bool()
		case 16:
			a.Late = append(a.Late, getLate(f.Sub()))
		case 17:
			a.EndCount = f.Int32()
		case 18:
			a.Trace = f.String()
		}
	}
	return r.Err()
}

func encodeEffect(e *idem.Effect) []byte {
	w := tlv.NewWriter(codecVersion)
	w.Int(1, int64(e.Generation))
	w.Int(2, int64(e.OnUnknown))
	w.Bytes(3, e.RequestHash)
	w.String(4, e.Target)
	w.Bytes(5, e.Intent)
	for _, t := range e.Tries {
		w.Group(6, func(g *tlv.Writer) {
			g.Int(1, int64(t.Number))
			g.Bytes(2, idBytes(t.Nonce))
			g.String(3, t.Begin)
			g.Bool(4, t.Open)
		})
	}
	w.String(7, e.ContentType)
	failure(w, 8, e.Error)
	for _, c := range e.Conflicts {
		w.Group(9, func(g *tlv.Writer) { g.Bytes(1, c[:]) })
	}
	putDecided(w, 10, e.Decided)
	return w.Out()
}

func decodeEffect(b []byte, e *idem.Effect) error {
	r := tlv.NewReader(b, codecVersion)
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		switch f.Tag {
		case 1:
			e.Generation = f.Int32()
		case 2:
			e.OnUnknown = idem.OnUnknown(f.Int())
		case 3:
			e.RequestHash = f.Bytes()
		case 4:
			e.Target = f.String()
		case 5:
			e.Intent = f.Bytes()
		case 6:
			e.Tries = append(e.Tries, getTry(f.Sub()))
		case 7:
			e.ContentType = f.String()
		case 8:
			e.Error = getFailure(f.Sub())
		case 9:
			e.Conflicts = append(e.Conflicts, getID(f.Sub()))
		case 10:
			e.Decided = append(e.Decided, getDecided(f.Sub()))
		}
	}
	return r.Err()
}

func getTry(r *tlv.Reader) (t idem.Try) {
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		switch f.Tag {
		case 1:
			t.Number = f.Int32()
		case 2:
			t.Nonce = id16(f.Value)
		case 3:
			t.Begin = f.String()
		case 4:
			t.Open = f.Bool()
		}
	}
	return t
}
