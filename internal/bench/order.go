package bench

import "slices"

// order is in which order the arms run in a round: groups begin with another one each
// time, arms within a group too, and every other round goes backwards.
func order(arms []*arm, round int) []*arm {
	var groups [][]*arm
	for _, a := range arms {
		if n := len(groups); n > 0 && groups[n-1][0].group == a.group {
			groups[n-1] = append(groups[n-1], a)
		} else {
			groups = append(groups, []*arm{a})
		}
	}
	for i, g := range groups {
		groups[i] = turned(g, round)
	}
	return slices.Concat(turned(groups, round)...)
}

// turned begins at another place and every other time goes backwards.
func turned[T any](list []T, round int) []T {
	if len(list) == 0 {
		return nil
	}
	n := round % len(list)
	out := slices.Concat(list[n:], list[:n])
	if round%2 == 1 {
		slices.Reverse(out)
	}
	return out
}
