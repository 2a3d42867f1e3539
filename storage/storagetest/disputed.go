package storagetest

import (
	"fmt"

	"github.com/idemsvc/idemsvc/idem"
)

// disputed are tests of the documented semantics that the rules in force do not pass.
var disputed = []test{
	{"TiedPredecessors", disputedTiedPredecessors},
}

// disputedTiedPredecessors: of two events that carry the version before, one is ignored
// and the other is unfinished. A known and unfinished predecessor is awaited, never
// skipped, whichever of the two comes first in the order of their names.
func disputedTiedPredecessors(s *site) {
	s.policy(func(p *idem.Policy) { p.SelfOrigins, p.Gap, p.GapAfter = []string{"us"}, idem.GapSkip, 0 })
	for i := range 8 { // names are hashes: both orders occur
		resource := fmt.Sprint("r", i)
		s.grant(resource+"v1", ordered(s.next(resource, 1))).complete("done")
		s.outcome(idem.OutcomeSelfOriginated, s.claim(resource+"ours", origin("us"), ordered(s.next(resource, 2))))
		s.grant(resource+"theirs", ordered(s.next(resource, 2))).fail(idem.Retryable)
		s.outcome(idem.OutcomeAwaiting, s.claim(resource+"v3", ordered(s.next(resource, 3))))
	}
}
