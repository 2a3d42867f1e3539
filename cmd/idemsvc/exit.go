package main

import (
	"errors"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/storage"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1 // the command failed
	exitUsage       = 2 // the command line or configuration is wrong
	exitUnavailable = 3 // the server or database cannot be reached, or is not ready
	exitNotFound    = 4 // what was asked for does not exist
	exitRefused     = 5 // the token is missing, unknown, or may not do this
)

const exitHelp = `Exit codes:
  0  it worked
  1  it failed
  2  the command line or configuration is wrong
  3  the server or database cannot be reached, or is not ready
  4  what was asked for does not exist
  5  access was refused
`

// usageError is a mistake in the command line or configuration.
type usageError struct{ error }

// Unwrap leads to the mistake itself.
func (e usageError) Unwrap() error { return e.error }

// notFound is the error of something that does not exist.
type notFound struct{ error }

// notReady is the error of a server that is there but serves nothing.
type notReady struct{ error }

// exitCode is the code for an error.
func exitCode(err error) int {
	_, usage := errors.AsType[usageError](err)
	_, missing := errors.AsType[notFound](err)
	_, waiting := errors.AsType[notReady](err)
	switch {
	case err == nil:
		return exitOK
	case usage:
		return exitUsage
	case missing, errors.Is(err, idemsvc.ErrNotFound):
		return exitNotFound
	case errors.Is(err, idemsvc.ErrUnauthenticated), errors.Is(err, idemsvc.ErrPermissionDenied), errors.Is(err, idemsvc.ErrUnknownNamespace):
		return exitRefused
	case waiting, errors.Is(err, storage.ErrUnavailable), errors.Is(err, idemsvc.ErrUnavailable), errors.Is(err, idemsvc.ErrDeadlineExceeded):
		return exitUnavailable
	default:
		return exitFailed
	}
}
