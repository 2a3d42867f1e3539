package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/idemsvc/idemsvc/storage"
)

// class says what an error of the database means for the work at hand. It is told from
// SQLSTATE, never from a message.
type class uint8

const (
	classOK        class = iota
	classRetry           // deadlock, serialization: the work rolled back, try again
	classLocked          // a lock did not come in time: the work rolled back
	classAway            // the connection or the server is gone or refuses work: ambiguous when it was committing
	classFull            // no space
	classData            // something in the work itself: isolate it
	classCancelled       // the caller's context
)

func classify(err error) class {
	if err == nil {
		return classOK
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return classifyState(pg.Code)
	}
	if _, ours := errors.AsType[errTimeout](err); ours {
		return classAway
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return classCancelled
	}
	return classAway // anything else without a SQLSTATE is a connection that broke or was never made
}

func classifyState(code string) class {
	switch code {
	case "40001", "40P01":
		return classRetry
	case "55P03":
		return classLocked
	case "53100":
		return classFull
	case "25006", // read-only: a standby, or a primary that was demoted
		"57P01", "57P02", "57P03", "57P04", "57P05", // shut down, crashed, starting, dropped, idle timeout
		"57014",                   // cancelled, by us or by an administrator
		"53000", "53200", "53300", // resources, memory, connections
		"58000", "58030", "F0000",
		"55000", // a standby: recovery is in progress
		"28000", "28P01", "3D000", "42501":
		return classAway
	}
	switch {
	case strings.HasPrefix(code, "08"):
		return classAway
	case code == "42P01", code == "3F000", code == "42703", code == "42883":
		return classAway // no such table, schema, column, function: another schema version
	}
	return classData
}

// stale reports whether the error says that other connections to the same server are
// dead or useless too.
func stale(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return classify(err) == classAway
	}
	switch pg.Code {
	case "25006", "55000", "57P01", "57P02", "57P03":
		return true
	}
	return strings.HasPrefix(pg.Code, "08")
}

// outside wraps an error of the database in the port's error of its class.
func outside(err error) error {
	switch classify(err) {
	case classOK:
		return nil
	case classFull:
		return fmt.Errorf("%w: %w", storage.ErrFull, err)
	case classRetry, classLocked:
		return fmt.Errorf("%w: %w", storage.ErrContended, err)
	case classAway, classCancelled:
		if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
			switch pg.Code {
			case "42P01", "3F000", "42703", "42883":
				return fmt.Errorf("%w: %w", storage.ErrSchema, err)
			}
		}
		return fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	default:
		return err
	}
}
