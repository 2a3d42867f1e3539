package idemsvc

import (
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// What the contract takes of a failure.
const (
	maxCode       = 128
	maxText       = 4096 // as much of the message as is kept
	maxReason     = 512  // of a release
	maxRetryAfter = 30 * 24 * time.Hour
)

// Codes of failures that the error gives none.
const (
	codeFailed   = "failed"
	codeRejected = "rejected"
	codeNotYet   = "not_yet"
	codePanic    = "panic"
	codeDeadline = "deadline_exceeded"
	codeOpen     = "open_effects"
	codeRefused  = "completion_refused"
)

// failure is an error that says what it means for the event. Each part that is not said
// is left to the errors it wraps.
type failure struct {
	err     error
	kind    pb.FailureKind
	after   time.Duration
	timed   bool
	code    string
	release bool
	notDone bool
}

// Error implements error.
func (f *failure) Error() string {
	if f.err == nil {
		return "no reason given"
	}
	return f.err.Error()
}

// Unwrap is the reason.
func (f *failure) Unwrap() error { return f.err }

// Reject says that the event will never be processed: it ends as FAILED_TERMINAL at once,
// and an operator may let it run again.
func Reject(reason error) error {
	return &failure{err: reason, kind: pb.FailureKind_FAILURE_KIND_TERMINAL}
}

// RetryAfter asks for the next attempt after d (0 to 30 days; 0: at once), instead of the
// policy's backoff. A provider's own redelivery does not wait for it.
func RetryAfter(d time.Duration, reason error) error {
	return &failure{err: reason, after: min(max(d, 0), maxRetryAfter), timed: true}
}

// NotYet says that something the event needs is not there yet. It uses up no attempt;
// its budget is one of time (24 h by default).
func NotYet(reason error) error {
	return &failure{err: reason, kind: pb.FailureKind_FAILURE_KIND_NOT_YET}
}

// Release gives the event back undone, for the next delivery or another consumer. It
// counts as no attempt unless a side effect was begun.
func Release(reason error) error { return &failure{err: reason, release: true} }

// WithCode names a failure for programs, such as "card_declined": 1 to 128 bytes.
func WithCode(code string, reason error) error { return &failure{err: reason, code: code} }

// NotDone says, from inside a side effect, that it surely did not take place. Without it
// every error means that nobody knows.
func NotDone(reason error) error { return &failure{err: reason, notDone: true} }

// meaning is what an error and the errors it wraps say.
func meaning(err error) failure {
	m := failure{err: err}
	walk(err, func(e error) {
		f, ok := e.(*failure) //nolint:errorlint // each link of the chain is looked at by itself
		if !ok {
			return
		}
		if m.kind == 0 && !m.release {
			m.kind, m.release = f.kind, f.release
		}
		if !m.timed {
			m.after, m.timed = f.after, f.timed
		}
		if m.code == "" {
			m.code = f.code
		}
		m.notDone = m.notDone || f.notDone
	})
	return m
}

// walk visits an error and all it wraps, outer ones first.
func walk(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	switch u := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		walk(u.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, e := range u.Unwrap() {
			walk(e, visit)
		}
	}
}

// request is the failure in the contract's words.
func (f *failure) request(text func(error) string) *pb.FailEventRequest {
	r := &pb.FailEventRequest{Error: f.told(text)}
	if f.timed && r.GetError().GetKind() != pb.FailureKind_FAILURE_KIND_TERMINAL {
		r.RetryAfter = durationpb.New(f.after)
	}
	return r
}

func (f *failure) told(text func(error) string) *pb.ProcessingError {
	e := &pb.ProcessingError{Code: storable(f.code, maxCode), Message: storable(text(f.err), maxText), Kind: f.kind}
	if e.GetKind() == 0 {
		e.Kind = pb.FailureKind_FAILURE_KIND_RETRYABLE
	}
	if strings.TrimSpace(e.GetCode()) == "" {
		switch e.GetKind() {
		case pb.FailureKind_FAILURE_KIND_TERMINAL:
			e.Code = codeRejected
		case pb.FailureKind_FAILURE_KIND_NOT_YET:
			e.Code = codeNotYet
		default:
			e.Code = codeFailed
		}
	}
	return e
}

// storable is text that the contract takes: valid UTF-8 without NUL, of at most limit
// bytes, cut between characters. A report must not be refused for its wording.
func storable(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
		for range utf8.UTFMax { // the cut may have gone through a character
			if r, n := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || n > 1 {
				break
			}
			s = s[:max(len(s)-1, 0)]
		}
	}
	s = strings.ToValidUTF8(s, "?")
	return strings.ReplaceAll(s, "\x00", "?")
}
