package linear

import (
	"cmp"
	"slices"

	"github.com/idemsvc/idemsvc/idem"
)

// part is a part of a history that has nothing to do with the rest of it.
type part struct {
	h      *History
	calls  []*Call
	rows   []*Row
	leases []*Lease
	ids    map[idem.ID]bool
}

// parts cuts a history into what belongs together: events that share a resource or an
// effect.
func parts(h *History) []*part {
	up := map[idem.ID]idem.ID{}
	var root func(id idem.ID) idem.ID
	root = func(id idem.ID) idem.ID {
		if p, ok := up[id]; ok && p != id {
			up[id] = root(p)
			return up[id]
		}
		up[id] = id
		return id
	}
	for i := range h.Calls {
		ids := RecordsOf(h.Calls[i].Command)
		for _, id := range ids {
			up[root(id)] = root(ids[0])
		}
	}
	byRoot := map[idem.ID]*part{}
	var list []*part // in the order of their first calls: of two at fault always the same one is named
	of := func(id idem.ID) *part {
		r := root(id)
		if byRoot[r] == nil {
			byRoot[r] = &part{h: h, ids: map[idem.ID]bool{}}
			list = append(list, byRoot[r])
		}
		byRoot[r].ids[id] = true
		return byRoot[r]
	}
	for i := range h.Calls {
		ids := RecordsOf(h.Calls[i].Command)
		p := of(ids[0])
		for _, id := range ids {
			p.ids[id] = true
		}
		p.calls = append(p.calls, &h.Calls[i])
	}
	for i := range h.Journal {
		p := of(h.Journal[i].ID)
		p.rows = append(p.rows, &h.Journal[i])
	}
	for i := range h.Leases {
		p := of(h.Leases[i].ID)
		p.leases = append(p.leases, &h.Leases[i])
	}
	slices.SortStableFunc(list, func(a, b *part) int { return cmp.Compare(len(a.calls), len(b.calls)) })
	return list
}

// RecordsOf are the records that a command is about.
func RecordsOf(c idem.Command) (ids []idem.ID) {
	if id := c.Subject(); !id.IsZero() {
		ids = append(ids, id)
	}
	if o := idem.OrderingOf(c); o != nil {
		ids = append(ids, o.Resource.ID())
	}
	if id, ok := idem.EffectOf(c); ok {
		ids = append(ids, id)
	}
	return ids
}
