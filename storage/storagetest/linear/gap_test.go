package linear

import (
	"testing"
	"time"

	"github.com/idemsvc/idemsvc/idem"
)

// A version that waits for one that nobody has seen is noted after the gap was given up for
// another one, in the very transaction that brings what was missing.
func TestWaitingForAGapIsDecidedBeforeItIsWritten(t *testing.T) {
	for _, test := range []struct {
		name    string
		after   time.Duration // a gap is waited for
		decided int           // when; the gap began at 428
	}{
		{"while the gap is waited for", 5 * time.Millisecond, 430},
		{"by a moment before the gap began", 0, 427},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			x := newScript(t, func(p *idem.Policy) { p.StartAt, p.Gap, p.GapAfter = 1, idem.GapHold, test.after })
			claim := func(event int) *idem.Claim { return x.claim(event, x.ordering(idem.Sequential, int64(event)+1)) }
			told := func(client, event, from, to, ms int) {
				c := claim(event)
				x.heard(client, c, from, to, x.write(x.decide(c, ms), ms))
			}
			told(3, 1, 0, 430, 428)
			second := claim(2)
			note := x.decide(second, test.decided)
			told(0, 1, 23, 625, 590) // held
			told(4, 0, 23, 3864, 695)
			x.heard(2, second, 22, 30, nil).Unknown = errLost
			x.heard(2, second, 30, 3897, x.write(note, 695))
			told(3, 2, 1115, 2077, 1812) // it waits for the first by now
			x.judge(true)
		})
	}
}
