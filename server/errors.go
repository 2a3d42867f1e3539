package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc/status"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// How long a caller waits before it repeats, by what is wrong.
const (
	retryOverloaded  = 200 * time.Millisecond
	retryContended   = 50 * time.Millisecond
	retryUnavailable = time.Second
	retrySchema      = 10 * time.Second
	retryFull        = 30 * time.Second
	retryNow         = time.Millisecond // the deadline passed: at once, by the caller's own pace
)

// What a refusal's metadata may name: it travels in a header.
const (
	maxNames      = 20
	maxNamesBytes = 2048
)

// storageErrors is what a caller is told about each error of storage.
var storageErrors = []struct {
	err     error
	reason  pb.ErrorReason
	retry   time.Duration
	message string
}{
	{storage.ErrOverloaded, pb.ErrorReason_ERROR_REASON_OVERLOADED, retryOverloaded, "the server's queue is full"},
	{storage.ErrFull, pb.ErrorReason_ERROR_REASON_STORAGE_FULL, retryFull, "the database has no space left"},
	{storage.ErrContended, pb.ErrorReason_ERROR_REASON_UNAVAILABLE, retryContended, "the records are locked by other calls"},
	{storage.ErrClosed, pb.ErrorReason_ERROR_REASON_UNAVAILABLE, retryUnavailable, "the server is stopping"},
	{storage.ErrSchema, pb.ErrorReason_ERROR_REASON_SCHEMA_OUTDATED, retrySchema, "the database schema is older than this server needs"},
	{storage.ErrRestored, pb.ErrorReason_ERROR_REASON_RESTORE_DETECTED, retrySchema, "the database is an older copy of itself; an operator must begin a new epoch"},
	{storage.ErrUnavailable, pb.ErrorReason_ERROR_REASON_UNAVAILABLE, retryUnavailable, "the database cannot be reached"},
	{context.DeadlineExceeded, pb.ErrorReason_ERROR_REASON_DEADLINE_EXCEEDED, retryNow, "the deadline passed before the answer"},
	{context.Canceled, pb.ErrorReason_ERROR_REASON_CANCELLED, retryNow, "the caller went away before the answer"},
}

// refuse is the one place where an error becomes what a caller is told. What it does
// not know becomes a fixed text with an ID, and the cause goes to the log alone.
func refuse(ctx context.Context, log *slog.Logger, err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	if rule, ok := errors.AsType[*idem.Error](err); ok {
		if r, ok := refuseRule(rule); ok {
			return r
		}
	}
	for _, e := range storageErrors {
		if errors.Is(err, e.err) {
			return &refusal{reason: e.reason, message: e.message, retry: e.retry, cause: err}
		}
	}
	return internal(ctx, log, err)
}

// refuseRule is the refusal of a rule.
func refuseRule(e *idem.Error) (*refusal, bool) {
	reason, ok := reasonOf(string(e.Code))
	if !ok {
		return nil, false
	}
	r := &refusal{reason: reason, message: e.Detail, cause: e}
	if e.Field != "" {
		r.fields = []violation{{field: e.Field, message: e.Detail}}
	}
	if len(e.Names) > 0 {
		names := e.Names[:min(len(e.Names), maxNames)]
		r.meta = map[string]string{namesKey(e.Code): cutText(printable(strings.Join(names, ",")), maxNamesBytes)}
	}
	return r, true
}

func namesKey(c idem.Code) string {
	switch c {
	case idem.CodeOpenEffects:
		return "effects"
	case idem.CodeAlreadyEnded:
		return "state"
	default:
		return "names"
	}
}

// internal hides a fault of the service behind an ID.
func internal(ctx context.Context, log *slog.Logger, cause error) *refusal {
	var raw [8]byte
	_, _ = rand.Read(raw[:]) // never fails
	id := hex.EncodeToString(raw[:])
	log.ErrorContext(ctx, "internal error", "error_id", id, "error", cause)
	return &refusal{
		reason: pb.ErrorReason_ERROR_REASON_INTERNAL, message: "internal error",
		meta: map[string]string{"error_id": id}, cause: cause,
	}
}

// isStatus reports whether an error is already a status: of a service that is not ours
// (health, reflection), or of grpc itself.
func isStatus(err error) bool {
	_, ours := errors.AsType[*refusal](err)
	_, ok := status.FromError(err)
	return ok && !ours
}

// fieldsAt renames the field of a rule's refusal to where it stands in the request.
func fieldsAt(err error, rename func(string) string) error {
	rule, ok := errors.AsType[*idem.Error](err)
	if !ok || rule.Field == "" {
		return err
	}
	moved := *rule
	moved.Field = rename(rule.Field)
	return &moved
}
