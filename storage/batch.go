package storage

import (
	"context"
	"slices"

	"github.com/idemsvc/idemsvc/idem"
)

// DoAll carries out many commands of one caller and returns a result for each, in order.
// Claims of one event are decided in their order, and claims on one resource in the
// order of their versions: the oldest that is granted takes the lane, the rest find it
// taken.
func (s *Service) DoAll(ctx context.Context, cs []idem.Command) []Result {
	out := make([]Result, len(cs))
	free, rivals := divide(cs)
	if len(free) > 0 {
		s.together(ctx, cs, free, out)
	}
	for len(rivals) > 0 {
		var wave []int
		var left [][]int
		for _, group := range rivals {
			wave = append(wave, group[0])
		}
		s.together(ctx, cs, wave, out)
		wave = wave[:0]
		for _, group := range rivals {
			switch rest := group[1:]; {
			case len(rest) == 0:
			case granted(out[group[0]]):
				wave = append(wave, rest...) // they meet a claim, whatever their order
			default:
				left = append(left, rest)
			}
		}
		if len(wave) > 0 {
			s.together(ctx, cs, wave, out)
		}
		rivals = left
	}
	return out
}

func granted(r Result) bool {
	a, ok := r.Answer.(*idem.ClaimAnswer)
	return ok && a.Outcome == idem.OutcomeClaimed
}

// divide parts the commands into those that no other one of the batch competes with, and
// groups of claims that do, each in the order in which they are to be decided.
func divide(cs []idem.Command) (free []int, rivals [][]int) {
	groups := map[idem.ID][]int{}
	var order []idem.ID
	for i, c := range cs {
		claim, ok := c.(*idem.Claim)
		if !ok {
			free = append(free, i)
			continue
		}
		id := c.Subject()
		if claim.Ordering != nil {
			id = claim.Ordering.Resource.ID()
		}
		if groups[id] == nil {
			order = append(order, id)
		}
		groups[id] = append(groups[id], i)
	}
	for _, id := range order {
		group := groups[id]
		if len(group) == 1 {
			free = append(free, group[0])
			continue
		}
		slices.SortStableFunc(group, func(a, b int) int { return byVersion(cs[a], cs[b]) })
		rivals = append(rivals, group)
	}
	return free, rivals
}

func byVersion(a, b idem.Command) int {
	x, y := idem.OrderingOf(a), idem.OrderingOf(b)
	if x == nil || y == nil {
		return 0
	}
	return x.Version.Compare(y.Version)
}
