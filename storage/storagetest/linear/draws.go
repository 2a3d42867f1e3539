package linear

import (
	"slices"
	"sync"

	"github.com/idemsvc/idemsvc/idem"
)

// draws are the random parts that an acquisition may use: it draws one for each event that
// it tries.
type draws struct {
	mu   sync.Mutex
	left []idem.ID
	used []idem.ID
}

func (d *draws) next() idem.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := d.left[0]
	d.left, d.used = d.left[1:], append(d.used, id)
	return id
}

// given notes one whose claim somebody was told of.
func (d *draws) given(id idem.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.used = slices.DeleteFunc(d.used, func(o idem.ID) bool { return o == id })
}

// rest are those of which nobody was told. Whoever left early may have some drawn yet.
func (d *draws) rest(left bool) []idem.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !left {
		return slices.Clone(d.used)
	}
	return slices.Concat(d.used, d.left[:min(len(d.left), acquiredMost)])
}
