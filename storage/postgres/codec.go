package postgres

import (
	"time"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/tlv"
)

// codecVersion leads every encoding in the database. Fields are added under new tags;
// a changed meaning needs a new version.
const codecVersion = 1

func id16(b []byte) (id idem.ID) {
	copy(id[:], b)
	return id
}

func idBytes(id idem.ID) []byte {
	if id.IsZero() {
		return nil
	}
	return id[:]
}

func getID(r *tlv.Reader) idem.ID {
	f, _ := r.Next()
	return id16(f.Value)
}

func putVersion(w *tlv.Writer, v idem.Version) {
	w.Int(1, int64(v.Kind))
	w.Int(2, v.Epoch)
	w.Int(3, v.Value)
}

func getVersion(r *tlv.Reader) (v idem.Version) {
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		switch f.Tag {
		case 1:
			v.Kind = idem.VersionKind(f.Int())
		case 2:
			v.Epoch = f.Int()
		case 3:
			v.Value = f.Int()
		}
	}
	return v
}

func putFailure(w *tlv.Writer, f idem.Failure) {
	w.Int(1, int64(f.Kind))
	w.String(2, f.Code)
	w.String(3, f.Message)
}

func getFailure(r *tlv.Reader) (e idem.Failure) {
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		switch f.Tag {
		case 1:
			e.Kind = idem.FailureKind(f.Int())
		case 2:
			e.Code = f.String()
		case 3:
			e.Message = f.String()
		}
	}
	return e
}

func failure(w *tlv.Writer, tag uint64, f idem.Failure) {
	if f != (idem.Failure{}) {
		w.Group(tag, func(g *tlv.Writer) { putFailure(g, f) })
	}
}

func headers(w *tlv.Writer, tag uint64, hs []idem.Header) {
	for _, h := range hs {
		w.Group(tag, func(g *tlv.Writer) {
			g.String(1, h.Name)
			g.String(2, h.Value)
		})
	}
}

func getHeader(r *tlv.Reader) (h idem.Header) {
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		switch f.Tag {
		case 1:
			h.Name = f.String()
		case 2:
			h.Value = f.String()
		}
	}
	return h
}

func first(r *tlv.Reader) string {
	f, _ := r.Next()
	return f.String()
}

// putFacts writes what the first delivery said.
func putFacts(w *tlv.Writer, f *idem.Facts) {
	w.Int(1, int64(f.KeyQuality))
	w.String(2, f.Type)
	w.String(3, f.ResourceType)
	w.String(4, f.ResourceID)
	w.Int(5, f.OccurredAt)
	w.String(6, f.Correlation)
	w.String(7, f.CauseSource)
	w.String(8, f.CauseEventID)
	w.String(9, f.CauseText)
	w.String(10, f.Origin)
	w.Bytes(11, f.PayloadHash)
	w.String(12, f.PayloadRef)
	w.Int(13, int64(f.PayloadSize))
	w.String(14, f.ContentType)
	w.Bytes(15, f.Fingerprint)
	w.String(16, f.RequestID)
	w.Int(17, int64(f.Kind))
	w.Int(18, int64(f.Attempt))
	w.Int(19, int64(f.Signature))
	w.Int(20, f.ReceivedAt)
	headers(w, 21, f.Headers)
	w.String(22, f.TraceParent)
	w.String(23, f.CauseTrace)
}

func encodeFacts(f *idem.Facts) []byte {
	w := tlv.NewWriter(codecVersion)
	putFacts(w, f)
	return w.Out()
}

func decodeFacts(b []byte, x *idem.Facts) error {
	r := tlv.NewReader(b, codecVersion)
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		switch f.Tag {
		case 1:
			x.KeyQuality = uint8(f.Int()) //nolint:gosec // written from the same type
		case 2:
			x.Type = f.String()
		case 3:
			x.ResourceType = f.String()
		case 4:
			x.ResourceID = f.String()
		case 5:
			x.OccurredAt = f.Int()
		case 6:
			x.Correlation = f.String()
		case 7:
			x.CauseSource = f.String()
		case 8:
			x.CauseEventID = f.String()
		case 9:
			x.CauseText = f.String()
		case 10:
			x.Origin = f.String()
		case 11:
			x.PayloadHash = f.Bytes()
		case 12:
			x.PayloadRef = f.String()
		case 13:
			x.PayloadSize = f.Int32()
		case 14:
			x.ContentType = f.String()
		case 15:
			x.Fingerprint = f.Bytes()
		case 16:
			x.RequestID = f.String()
		case 17:
			x.Kind = idem.DeliveryKind(f.Int())
		case 18:
			x.Attempt = f.Int32()
		case 19:
			x.Signature = idem.Signature(f.Int())
		case 20:
			x.ReceivedAt = f.Int()
		case 21:
			x.Headers = append(x.Headers, getHeader(f.Sub()))
		case 22:
			x.TraceParent = f.String()
		case 23:
			x.CauseTrace = f.String()
		}
	}
	return r.Err()
}

func putLane(w *tlv.Writer, l idem.Lane) {
	w.Bytes(1, l.Resource[:])
	w.Group(2, func(g *tlv.Writer) { putVersion(g, l.Version) })
	w.String(3, l.Machine)
	w.String(4, l.To)
	w.Int(5, l.Start)
}

func getLane(r *tlv.Reader) (l idem.Lane) {
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		switch f.Tag {
		case 1:
			l.Resource = id16(f.Value)
		case 2:
			l.Version = getVersion(f.Sub())
		case 3:
			l.Machine = f.String()
		case 4:
			l.To = f.String()
		case 5:
			l.Start = f.Int()
		}
	}
	return l
}

func putOrdering(w *tlv.Writer, o *idem.Ordering) {
	w.String(1, o.Resource.Type)
	w.String(2, o.Resource.Name)
	w.Group(3, func(g *tlv.Writer) { putVersion(g, o.Version) })
	w.Int(4, int64(o.Mode))
	if o.Transition != nil {
		w.String(5, o.Transition.Machine)
		w.String(6, o.Transition.To)
	}
}

// getOrdering reads an ordering of the key's own namespace and consumer.
func getOrdering(r *tlv.Reader, key idem.EventKey) *idem.Ordering {
	o := &idem.Ordering{Resource: idem.ResourceKey{Namespace: key.Namespace, Consumer: key.Consumer}}
	var t idem.Transition
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		switch f.Tag {
		case 1:
			o.Resource.Type = f.String()
		case 2:
			o.Resource.Name = f.String()
		case 3:
			o.Version = getVersion(f.Sub())
		case 4:
			o.Mode = idem.Mode(f.Int())
		case 5:
			t.Machine = f.String()
		case 6:
			t.To = f.String()
		}
	}
	if t != (idem.Transition{}) {
		o.Transition = &t
	}
	return o
}

func putLate(w *tlv.Writer, l idem.LateReport) {
	w.Int(1, l.Fence)
	w.Int(2, int64(l.Call))
	w.Bytes(3, idBytes(l.Hash))
	failure(w, 4, l.Error)
	w.Int(5, int64(l.Number))
	w.Bytes(6, l.Result)
	w.String(7, l.ContentType)
	w.Bool(8, l.Omitted)
}

func getLate(r *tlv.Reader) (l idem.LateReport) {
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		switch f.Tag {
		case 1:
			l.Fence = f.Int()
		case 2:
			l.Call = idem.EndKind(f.Int())
		case 3:
			l.Hash = id16(f.Value)
		case 4:
			l.Error = getFailure(f.Sub())
		case 5:
			l.Number = f.Int32()
		case 6:
			l.Result = f.Bytes()
		case 7:
			l.ContentType = f.String()
		case 8:
			l.Omitted = f.Bool()
		}
	}
	return l
}

// encodeDetail writes the part of an event's record that only the service reads.
func encodeDetail(e *idem.Event) []byte {
	w := tlv.NewWriter(codecVersion)
	w.Int(1, int64(e.Reason))
	w.Int(2, int64(e.Stale))
	if e.Ordering != nil {
		w.Group(3, func(g *tlv.Writer) { putOrdering(g, e.Ordering) })
	}
	w.String(4, e.Claimant)
	w.String(5, e.Holder)
	w.Int(6, int64(e.Reentries))
	w.Bytes(7, e.AttemptHash)
	w.Bool(8, e.Tied)
	w.Bool(9, e.Waived)
	for _, l := range e.Lanes {
		w.Group(10, func(g *tlv.Writer) { putLane(g, l) })
	}
	w.Int(11, int64(e.Round))
	w.Int(12, int64(e.Attempts))
	w.Int(13, int64(e.Releases))
	w.Bool(14, e.Replay)
	w.Bool(15, e.ReplayFailed)
	w.Strings(16, e.ReplayIDs)
	w.Int(17, int64(e.SettledAs))
	w.Int(18, int64(e.End))
	w.Bytes(19, idBytes(e.EndHash))
	w.Int(20, int64(e.EndState))
	w.Bool(21, e.EndLate)
	w.Bool(22, e.EndFree)
	w.String(23, e.EndWhy)
	w.String(24, e.ContentType)
	w.Strings(25, e.Outputs)
	failure(w, 26, e.Error)
	w.Int(27, int64(e.Answered.HTTPStatus))
	w.Int(28, e.Answered.At)
	if e.Waiting.Kind != idem.NotWaiting {
		w.Group(29, func(g *tlv.Writer) {
			g.Int(1, int64(e.Waiting.Kind))
			g.Bytes(2, idBytes(e.Waiting.Event))
			g.Group(3, func(v *tlv.Writer) { putVersion(v, e.Waiting.Expected) })
		})
	}
	w.Bool(31, e.Began)
	for _, l := range e.LateReports {
		w.Group(32, func(g *tlv.Writer) { putLate(g, l) })
	}
	w.Bool(33, e.ReplayDied)
	w.Int(34, int64(e.GrantRound))
	w.Int(35, int64(e.EndCount))
	w.Int(36, int64(e.EndDelay))
	w.String(37, e.Trace)
	w.Int(40, int64(e.Replays))
	putDecided(w, 41, e.Decided)
	w.Bytes(42, idBytes(e.CarriedBy))
	w.Bool(43, e.GrantReplay)
	w.Bool(44, e.Backfill)
	w.Bool(45, e.LetPass)
	return w.Out()
}

func decodeDetail(b []byte, e *idem.Event) error {
	r := tlv.NewReader(b, codecVersion)
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		switch f.Tag {
		case 1:
			e.Reason = idem.Reason(f.Int())
		case 2:
			e.Stale = idem.StaleClaim(f.Int())
		case 3:
			e.Ordering = getOrdering(f.Sub(), e.Key)
		case 4:
			e.Claimant = f.String()
		case 5:
			e.Holder = f.String()
		case 6:
			e.Reentries = f.Int32()
		case 7:
			e.AttemptHash = f.Bytes()
		case 8:
			e.Tied = f.Bool()
		case 9:
			e.Waived = f.Bool()
		case 10:
			e.Lanes = append(e.Lanes, getLane(f.Sub()))
		case 11:
			e.Round = f.Int32()
		case 12:
			e.Attempts = f.Int32()
		case 13:
			e.Releases = f.Int32()
		case 14:
			e.Replay = f.Bool()
		case 15:
			e.ReplayFailed = f.Bool()
		case 16:
			e.ReplayIDs = append(e.ReplayIDs, first(f.Sub()))
		case 17:
			e.SettledAs = idem.State(f.Int())
		default:
			decodeEnd(f, e)
		}
	}
	return r.Err()
}

// decodeEnd reads the second half of an event's detail: how the last grant ended.
func decodeEnd(f tlv.Field, e *idem.Event) {
	switch f.Tag {
	case 18:
		e.End = idem.EndKind(f.Int())
	case 19:
		e.EndHash = id16(f.Value)
	case 20:
		e.EndState = idem.State(f.Int())
	case 21:
		e.EndLate = f.Bool()
	case 22:
		e.EndFree = f.Bool()
	case 23:
		e.EndWhy = f.String()
	case 24:
		e.ContentType = f.String()
	case 25:
		e.Outputs = append(e.Outputs, first(f.Sub()))
	case 26:
		e.Error = getFailure(f.Sub())
	case 27:
		e.Answered.HTTPStatus = f.Int32()
	case 28:
		e.Answered.At = f.Int()
	case 29:
		r := f.Sub()
		for g, ok := r.Next(); ok; g, ok = r.Next() {
			switch g.Tag {
			case 1:
				e.Waiting.Kind = idem.WaitKind(g.Int())
			case 2:
				e.Waiting.Event = id16(g.Value)
			case 3:
				e.Waiting.Expected = getVersion(g.Sub())
			}
		}
	case 31:
		e.Began = f.Bool()
	case 42:
		e.CarriedBy = id16(f.Value)
	case 32:
		e.LateReports = append(e.LateReports, getLate(f.Sub()))
	case 33:
		e.ReplayDied = f.Bool()
	case 34:
		e.GrantRound = f.Int32()
	case 35:
		e.EndCount = f.Int32()
	case 36:
		e.EndDelay = time.Duration(f.Int())
	case 37:
		e.Trace = f.String()
	case 40:
		e.Replays = f.Int32()
	case 41:
		e.Decided = append(e.Decided, getDecided(f.Sub()))
	case 43:
		e.GrantReplay = f.Bool()
	case 44:
		e.Backfill = f.Bool()
	case 45:
		e.LetPass = f.Bool()
	}
}

func putDecided(w *tlv.Writer, tag uint64, list []idem.Decided) {
	for _, d := range list {
		w.Group(tag, func(g *tlv.Writer) {
			g.String(1, d.Request)
			g.Bytes(2, idBytes(d.Hash))
			g.Int(3, int64(d.State))
		})
	}
}

func getDecided(r *tlv.Reader) (d idem.Decided) {
	for f, ok := r.Next(); ok; f, ok = r.Next() {
		switch f.Tag {
		case 1:
			d.Request = f.String()
		case 2:
			d.Hash = id16(f.Value)
		case 3:
			d.State = idem.State(f.Int()) //nolint:gosec // written from the same type
		}
	}
	return d
}
