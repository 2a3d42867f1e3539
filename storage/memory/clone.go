package memory

import (
	"bytes"
	"slices"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

func cloneEvent(e *idem.Event) *idem.Event {
	if e == nil {
		return nil
	}
	c := *e
	c.Facts = cloneFacts(e.Facts)
	c.Ordering = cloneOrdering(e.Ordering)
	c.AttemptHash = bytes.Clone(e.AttemptHash)
	c.Lanes = slices.Clone(e.Lanes)
	c.Result = bytes.Clone(e.Result)
	c.Outputs = slices.Clone(e.Outputs)
	c.ReplayIDs = slices.Clone(e.ReplayIDs)
	c.LateReports = cloneLate(e.LateReports)
	c.Decided = slices.Clone(e.Decided)
	return &c
}

func cloneLate(list []idem.LateReport) []idem.LateReport {
	list = slices.Clone(list)
	for i := range list {
		list[i].Result = bytes.Clone(list[i].Result)
	}
	return list
}

func cloneFacts(f idem.Facts) idem.Facts {
	f.PayloadHash = bytes.Clone(f.PayloadHash)
	f.Fingerprint = bytes.Clone(f.Fingerprint)
	f.Headers = slices.Clone(f.Headers)
	return f
}

func cloneOrdering(o *idem.Ordering) *idem.Ordering {
	if o == nil {
		return nil
	}
	c := *o
	if o.Transition != nil {
		t := *o.Transition
		c.Transition = &t
	}
	return &c
}

func cloneAttempt(a *idem.Attempt) idem.Attempt {
	c := *a
	c.AttemptHash = bytes.Clone(a.AttemptHash)
	c.Result = bytes.Clone(a.Result)
	c.Late = cloneLate(a.Late)
	return c
}

func cloneEffect(e *idem.Effect) *idem.Effect {
	if e == nil {
		return nil
	}
	c := *e
	c.RequestHash = bytes.Clone(e.RequestHash)
	c.Intent = bytes.Clone(e.Intent)
	c.Tries = slices.Clone(e.Tries)
	c.Result = bytes.Clone(e.Result)
	c.Conflicts = slices.Clone(e.Conflicts)
	c.Decided = slices.Clone(e.Decided)
	return &c
}

func cloneResource(r *idem.Resource) *idem.Resource {
	c := *r
	c.Print = bytes.Clone(r.Print)
	return &c
}

func cloneEntry(e *idem.Entry) idem.Entry {
	c := *e
	c.Outputs = slices.Clone(e.Outputs)
	c.Applied = slices.Clone(e.Applied)
	c.Also = slices.Clone(e.Also)
	return c
}

func cloneDelivery(d *storage.Delivery) storage.Delivery {
	c := *d
	c.Headers = slices.Clone(d.Headers)
	c.PayloadHash = bytes.Clone(d.PayloadHash)
	c.Anomalies = slices.Clone(d.Anomalies)
	return c
}
