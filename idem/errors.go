package idem

import "fmt"

// Code is the stable name of a refusal. It is the reason in a reply's ErrorInfo.
type Code string

// The refusals of the rules.
const (
	CodeClaimLost     Code = "CLAIM_LOST"
	CodeClaimExpired  Code = "CLAIM_EXPIRED"
	CodeAlreadyEnded  Code = "ALREADY_ENDED"
	CodeOpenEffects   Code = "OPEN_EFFECTS"
	CodeEffectLost    Code = "EFFECT_LOST"
	CodeEffectLimit   Code = "EFFECT_LIMIT"
	CodeKindMismatch  Code = "VERSION_KIND_MISMATCH"
	CodeKeyCollision  Code = "KEY_COLLISION"
	CodeInvalid       Code = "INVALID_ARGUMENT"
	CodeUnknownMach   Code = "UNKNOWN_MACHINE"
	CodeNotFound      Code = "NOT_FOUND"
	CodeNotResolvable Code = "NOT_RESOLVABLE"
	CodeReplayRefused Code = "REPLAY_REFUSED"
)

// Error is a refusal: the command changed nothing, except that a report which came
// too late may have been noted on the record.
type Error struct {
	Code   Code
	Field  string // the input at fault, when one is
	Detail string // for people
	Names  []string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Field != "" {
		return fmt.Sprintf("%s: %s: %s", e.Code, e.Field, e.Detail)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Detail)
}

// Is makes errors.Is compare by code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

func errLost() *Error {
	return &Error{Code: CodeClaimLost, Detail: "the claim was lost: a newer grant, an operator's decision or a lane given on stands against it"}
}

func errExpired() *Error {
	return &Error{Code: CodeClaimExpired, Detail: "the lease is over; extend the claim before using its rights"}
}

func errEnded(e *Event, end EndKind) *Error {
	return &Error{Code: CodeAlreadyEnded, Detail: "the claim has ended by another call: " + end.String(), Names: []string{e.State.String()}}
}
