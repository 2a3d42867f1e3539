package main

import (
	"errors"
	"fmt"
	"strings"

	idemsvc "github.com/idemsvc/idemsvc/clients/go"
	"github.com/idemsvc/idemsvc/server/auth"
	"github.com/idemsvc/idemsvc/storage"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnavailable = 3
	exitNotFound    = 4
	exitRefused     = 5
)

// exitMeanings is what the codes mean, by code.
var exitMeanings = [...]string{
	exitOK:          "it worked",
	exitFailed:      "it failed; the standard error says why",
	exitUsage:       "the command line or configuration is wrong; nothing was done",
	exitUnavailable: "the server or database cannot be reached, or is not ready; trying again later may help",
	exitNotFound:    "what was asked for does not exist",
	exitRefused:     "access was refused: the token is missing, unknown or expired, or does not allow this",
}

// exitHelp is the codes for people.
func exitHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for code, meaning := range exitMeanings {
		fmt.Fprintf(&b, "  %d  %s\n", code, meaning)
	}
	return b.String()
}

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
	case usage, errors.Is(err, auth.ErrInvalid):
		return exitUsage
	case missing, errors.Is(err, idemsvc.ErrNotFound), errors.Is(err, auth.ErrUnknownID):
		return exitNotFound
	case errors.Is(err, idemsvc.ErrUnauthenticated), errors.Is(err, idemsvc.ErrPermissionDenied), errors.Is(err, idemsvc.ErrUnknownNamespace):
		return exitRefused
	case waiting, errors.Is(err, storage.ErrUnavailable), errors.Is(err, idemsvc.ErrUnavailable), errors.Is(err, idemsvc.ErrDeadlineExceeded):
		return exitUnavailable
	default:
		return exitFailed
	}
}
