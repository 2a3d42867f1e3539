package wrongrules

import "github.com/idemsvc/idemsvc/idem"

// altered runs Decide on an altered world, and gives the decision back as one on the
// stored records.
func altered(w *idem.World, c idem.Command, p *idem.Policy, alter func(w *idem.World)) idem.Decision {
	v := *w
	v.Resources = map[idem.ID]*idem.Resource{}
	resources := map[*idem.Resource]*idem.Resource{}
	for id, r := range w.Resources {
		x := *r
		v.Resources[id] = &x
		resources[&x] = r
	}
	v.Owners = map[idem.ID]*idem.Event{}
	events := map[*idem.Event]*idem.Event{}
	for id, e := range w.Owners {
		x := *e
		v.Owners[id] = &x
		events[&x] = e
	}
	if w.Event != nil {
		x := *w.Event
		v.Event = &x
		events[&x] = w.Event
	}
	v.Members = append([]idem.MemberEvent(nil), w.Members...)
	effects := map[*idem.Effect]*idem.Effect{}
	if w.Effect != nil {
		x := *w.Effect
		v.Effect = &x
		effects[&x] = w.Effect
	}
	alter(&v)
	d := idem.Decide(&v, c, p)
	if w.Event != nil && len(d.Entries) > 0 && d.Entries[0].ID == w.Event.ID() {
		d.Entries[0].From = w.Event.State
	}
	fix := func(ew *idem.EventWrite) {
		if ew != nil && events[ew.Old] != nil {
			ew.Old = events[ew.Old]
		}
	}
	fix(d.Event)
	for _, o := range d.Owners {
		fix(o)
	}
	for _, r := range d.Resources {
		if old := resources[r.Old]; old != nil {
			r.Old = old
		}
	}
	for _, f := range d.Effects {
		if old := effects[f.Old]; old != nil {
			f.Old = old
		}
	}
	return d
}

// withToken is the command with its claim token altered.
func withToken(c idem.Command, alter func(*idem.Token)) idem.Command {
	switch c := c.(type) {
	case *idem.Complete:
		x := *c
		alter(&x.Token)
		return &x
	case *idem.Fail:
		x := *c
		alter(&x.Token)
		return &x
	case *idem.Extend:
		x := *c
		alter(&x.Token)
		return &x
	case *idem.Release:
		x := *c
		alter(&x.Token)
		return &x
	case *idem.Check:
		if c.Token == nil {
			return c
		}
		x, t := *c, *c.Token
		alter(&t)
		x.Token = &t
		return &x
	case *idem.BeginEffect:
		x, t := *c, *c.Token
		alter(&t)
		x.Token = &t
		return &x
	}
	return c
}

func isGrant(d *idem.Decision) bool {
	a, ok := d.Answer.(*idem.ClaimAnswer)
	return ok && a.Granted
}
