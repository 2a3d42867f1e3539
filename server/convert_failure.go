package server

import (
	"strings"
	"unicode/utf8"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

// maxErrorMessage is how much of an error's message is kept.
const maxErrorMessage = 4096

// cutMark ends a kept message that was cut. Shown messages end without it.
const cutMark = "\n[cut]"

// toFailure takes an error as reported. A message beyond the limit is cut on a
// character's boundary and marked.
func toFailure(e *pb.ProcessingError) idem.Failure {
	if e == nil {
		return idem.Failure{}
	}
	return idem.Failure{Kind: idem.FailureKind(e.GetKind()), Code: e.GetCode(), Message: keepMessage(e.GetMessage())} //nolint:gosec // validated
}

func keepMessage(s string) string {
	if len(s) <= maxErrorMessage {
		return s
	}
	return cutText(s, maxErrorMessage-len(cutMark)) + cutMark
}

// cutText is the longest prefix of whole characters within the limit.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

func fromFailure(f idem.Failure) *pb.ProcessingError {
	if f == (idem.Failure{}) {
		return nil
	}
	text, cut := strings.CutSuffix(f.Message, cutMark)
	return &pb.ProcessingError{Kind: pb.FailureKind(f.Kind), Code: f.Code, Message: text, MessageCut: cut}
}
