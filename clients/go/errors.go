package idemsvc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// Reason is the stable name of why a call was refused, as documented at ErrorReason in
// the contract. It is an error, to be asked for with [errors.Is]:
//
//	if errors.Is(err, idemsvc.ErrClaimLost) { ... }
type Reason string

// Error implements error.
func (r Reason) Error() string { return "idemsvc: " + string(r) }

// The reasons that a program may act on. Others exist, and more will.
const (
	ErrClaimLost           = Reason("CLAIM_LOST")            // stop working on the event
	ErrClaimExpired        = Reason("CLAIM_EXPIRED")         // extend the claim, then repeat
	ErrAlreadyEnded        = Reason("ALREADY_ENDED")         // the claim was ended in another way before
	ErrInvalidToken        = Reason("INVALID_TOKEN")         // not a token for a namespace of the caller
	ErrOpenEffects         = Reason("OPEN_EFFECTS")          // effects were begun and not reported
	ErrEffectLost          = Reason("EFFECT_LOST")           // a newer try of the effect exists
	ErrEffectLimit         = Reason("EFFECT_LIMIT")          // the event has too many effects, or too many bytes of them
	ErrEffectScopeInvalid  = Reason("EFFECT_SCOPE_INVALID")  // the scope does not fit the rest of the call
	ErrInvalidArgument     = Reason("INVALID_ARGUMENT")      // Error.Field names what is wrong
	ErrTooLarge            = Reason("TOO_LARGE")             // the whole message is too large
	ErrUnknownNamespace    = Reason("UNKNOWN_NAMESPACE")     // the bearer token does not name it
	ErrUnauthenticated     = Reason("UNAUTHENTICATED")       // the bearer token is missing, unknown or expired
	ErrPermissionDenied    = Reason("PERMISSION_DENIED")     // the bearer token's role is too low
	ErrVersionKindMismatch = Reason("VERSION_KIND_MISMATCH") // the resource's versions are of another kind or mode
	ErrUnknownMachine      = Reason("UNKNOWN_MACHINE")       // no policy defines the state machine
	ErrNotFound            = Reason("NOT_FOUND")             // nothing in this namespace
	ErrOverloaded          = Reason("OVERLOADED")            // turned away, nothing was done
	ErrUnavailable         = Reason("UNAVAILABLE")           // whether it was done is unknown
	ErrStorageFull         = Reason("STORAGE_FULL")          // the database has no space left
	ErrSchemaOutdated      = Reason("SCHEMA_OUTDATED")       // an operator has to migrate the database
	ErrRestoreDetected     = Reason("RESTORE_DETECTED")      // an operator has to begin a new epoch
	ErrDeadlineExceeded    = Reason("DEADLINE_EXCEEDED")     // whether it was done is unknown
	ErrCancelled           = Reason("CANCELLED")             // whether it was done is unknown
	ErrInternal            = Reason("INTERNAL")              // a fault of the service
	ErrUnimplemented       = Reason("UNIMPLEMENTED")         // the server is older than the call
)

// domain is the ErrorInfo domain of the service's reasons.
const domain = "idemsvc"

// Error is a refused or failed call. It carries the gRPC status, which
// status.FromError finds.
type Error struct {
	Code       codes.Code        // gRPC code
	Reason     Reason            // by the service, or the code's counterpart for faults on the way
	Message    string            // for people
	Field      string            // the field that was refused, if one is to blame
	RetryAfter time.Duration     // wait at least this long before a repeat; 0: not told
	Metadata   map[string]string // details by name
	FromServer bool              // the service itself refused; otherwise the call may not have reached it

	status *status.Status
	moved  bool // a stream ended: another one can be had at once
	slow   bool // one try was too slow; the caller's own time is not over
}

// Error implements error.
func (e *Error) Error() string {
	text := "idemsvc: " + string(e.Reason)
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Field != "" && !strings.Contains(e.Message, e.Field) {
		text += " (" + e.Field + ")"
	}
	return text
}

// Is reports whether the target is the error's reason.
func (e *Error) Is(target error) bool {
	r, ok := target.(Reason)
	return ok && r == e.Reason
}

// Unwrap lets errors.Is find the end of a context.
func (e *Error) Unwrap() error {
	switch e.Code {
	case codes.DeadlineExceeded:
		return context.DeadlineExceeded
	case codes.Canceled:
		return context.Canceled
	default:
		return nil
	}
}

// GRPCStatus is the status of the call.
func (e *Error) GRPCStatus() *status.Status {
	if e.status != nil {
		return e.status
	}
	st := status.New(e.Code, e.Message)
	if with, err := st.WithDetails(&errdetails.ErrorInfo{Domain: domain, Reason: string(e.Reason), Metadata: e.Metadata}); err == nil {
		return with
	}
	return st
}

// Repeatable reports whether the same call with the same identity can succeed later.
func (e *Error) Repeatable() bool {
	if e.FromServer {
		return e.RetryAfter > 0
	}
	return e.Code == codes.Unavailable || e.slow
}

// Repeatable tells whether repeating the call can help, and how long to wait before; 0
// where the server does not say.
func Repeatable(err error) (wait time.Duration, ok bool) {
	e, ok := errors.AsType[*Error](err)
	if !ok || !e.Repeatable() {
		return 0, false
	}
	return e.RetryAfter, true
}

// Away reports whether an error says that the service could not answer now, so that a marker
// of the consumer's own may decide instead. What it refuses, and whom, is an answer.
func Away(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	switch e.Code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Internal:
		return true
	case codes.ResourceExhausted:
		return !errors.Is(e, ErrTooLarge)
	default:
		return false
	}
}

// asError turns the error of a call into an [*Error].
func asError(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	st, ok := status.FromError(err)
	if !ok {
		st = status.FromContextError(err)
	}
	e := &Error{Code: st.Code(), Message: st.Message(), Reason: reasonOf(st.Code()), status: st}
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if d.GetDomain() == domain {
				e.Reason, e.Metadata, e.FromServer = Reason(d.GetReason()), maps.Clone(d.GetMetadata()), true
			}
		case *errdetails.RetryInfo:
			e.RetryAfter = d.GetRetryDelay().AsDuration()
		case *errdetails.BadRequest:
			if v := d.GetFieldViolations(); len(v) > 0 {
				e.Field = v[0].GetField()
			}
		}
	}
	return e
}

// itemError is the refusal of one command of a session, or one item of a batch.
func itemError(i *pb.ItemError) *Error {
	return &Error{
		Code:   codes.Code(i.GetCode()), //nolint:gosec // a status code
		Reason: Reason(i.GetReason()), Message: i.GetMessage(), Field: i.GetField(),
		RetryAfter: i.GetRetryAfter().AsDuration(), Metadata: maps.Clone(i.GetMetadata()), FromServer: true,
	}
}

// ItemErr is the refusal of one item of a batch as an error, nil for none.
func ItemErr(i *pb.ItemError) error {
	if i == nil {
		return nil
	}
	return itemError(i)
}

// reasonOf stands in for the reason of an error that no server of ours made.
func reasonOf(c codes.Code) Reason {
	switch c {
	case codes.Unavailable:
		return ErrUnavailable
	case codes.DeadlineExceeded:
		return ErrDeadlineExceeded
	case codes.Canceled:
		return ErrCancelled
	case codes.Unauthenticated:
		return ErrUnauthenticated
	case codes.PermissionDenied:
		return ErrPermissionDenied
	case codes.InvalidArgument:
		return ErrInvalidArgument
	case codes.Unimplemented:
		return ErrUnimplemented
	case codes.ResourceExhausted:
		return ErrTooLarge // grpc's own: a message above its limit
	default:
		return Reason(fmt.Sprintf("GRPC_%d", c))
	}
}
