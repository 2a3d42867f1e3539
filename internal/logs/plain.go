package logs

import (
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A plain line is one whose texts need no quoting or escaping, as nearly all do. Whatever
// else comes is left to slog, so that its rules are written nowhere a second time: the lines
// are the same to the byte.

// form is how a plain line is written.
type form struct {
	time             string
	fraction         string // layout of the part of a second
	level, msg       string
	key, equals, end string
	quote            string // around texts
	safe             [256]bool
	second           atomic.Pointer[second] // of the line before
}

// second is a second as it is written.
type second struct {
	unix       int64
	where      *time.Location
	date, zone string
}

func formOf(json bool) *form {
	f := &form{time: "time=", fraction: ".000", level: " level=", msg: " msg=", key: " ", equals: "=", end: "\n"}
	if json {
		f = &form{time: `{"time":"`, fraction: ".999999999", level: `","level":"`, msg: `","msg":"`, key: `,"`, equals: `":`, end: "}\n", quote: `"`}
	}
	for c := '!'; c <= '~'; c++ {
		f.safe[c] = c != '"' && c != '\\' && c != '='
	}
	f.safe[' '], f.safe['='] = json, json
	return f
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// plain writes a line if it is plain and may wait.
func (h *handler) plain(now time.Time, level slog.Level, msg string, attrs []slog.Attr) bool {
	if h.form == nil || level >= slog.LevelWarn {
		return false
	}
	p, _ := buffers.Get().(*[]byte)
	defer buffers.Put(p)
	line, ok := h.form.line((*p)[:0], now, level, msg, attrs)
	*p = line
	if ok {
		_, _ = h.w.Write(line)
	}
	return ok
}

func (f *form) line(b []byte, now time.Time, level slog.Level, msg string, attrs []slog.Attr) (line []byte, ok bool) {
	b = f.stamp(append(b, f.time...), now)
	b = append(append(b, f.level...), level.String()...)
	if !f.plain(msg) {
		return b, false
	}
	b = append(append(append(b, f.msg...), msg...), f.quote...)
	for i := range attrs {
		a := &attrs[i]
		if !f.plain(a.Key) {
			return b, false
		}
		b = append(append(append(b, f.key...), a.Key...), f.equals...)
		switch a.Value.Kind() {
		case slog.KindString:
			s := a.Value.String()
			if !f.plain(s) {
				return b, false
			}
			b = append(append(append(b, f.quote...), s...), f.quote...)
		case slog.KindInt64:
			b = strconv.AppendInt(b, a.Value.Int64(), 10)
		case slog.KindFloat64:
			x := a.Value.Float64()
			if x != 0 && (x < 1e-4 || x >= 1e6) { // forms differ beyond
				return b, false
			}
			b = strconv.AppendFloat(b, x, 'f', -1, 64)
		default:
			return b, false
		}
	}
	return append(b, f.end...), true
}

// stamp writes the time. Most of it is that of the line before.
func (f *form) stamp(b []byte, now time.Time) []byte {
	s := f.second.Load()
	if s == nil || s.unix != now.Unix() || s.where != now.Location() {
		s = &second{now.Unix(), now.Location(), now.Format("2006-01-02T15:04:05"), now.Format("Z07:00")}
		f.second.Store(s)
	}
	b = now.AppendFormat(append(b, s.date...), f.fraction)
	return append(b, s.zone...)
}

// plain reports whether a text is written as it is. An empty one is not.
func (f *form) plain(s string) bool {
	for i := range len(s) {
		if !f.safe[s[i]] {
			return false
		}
	}
	return s != ""
}
