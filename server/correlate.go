package server

import (
	"context"

	"github.com/idemsvc/idemsvc/idem"
)

// correlate gives each delivery its correlation: what was told, else that of the event that
// it names as its cause, else the event's own ID. The trace of the cause comes with it, whether
// this one is recorded or not: an anomaly of it is recorded always, and a later attempt is a
// trace of its own. All causes are looked up in one question, and there is none where no event
// is named as a cause; one that cannot be found is as one that was not named.
func (c *core) correlate(ctx context.Context, cmds ...idem.Command) {
	var refs []idem.EventRef
	for _, cmd := range cmds {
		if a, ok := idem.ArrivalOf(cmd); ok && a.Facts.CauseEventID != "" {
			refs = append(refs, causeOf(a))
		}
	}
	var causes map[idem.EventRef]*idem.Facts
	if len(refs) > 0 {
		var err error
		if causes, err = c.store.Facts(ctx, refs); err != nil {
			c.log.WarnContext(ctx, "the causes of events could not be looked up", "error", err)
		}
	}
	for _, cmd := range cmds {
		a, ok := idem.ArrivalOf(cmd)
		if !ok {
			continue
		}
		if cause := causes[causeOf(a)]; cause != nil {
			a.Facts.CauseTrace = cause.TraceParent
			if a.Facts.Correlation == "" {
				a.Facts.Correlation = cause.Correlation
			}
		}
		if a.Facts.Correlation == "" {
			a.Facts.Correlation = a.Key.EventID
		}
	}
}

func causeOf(a idem.Arrival) idem.EventRef {
	return idem.EventRef{Namespace: a.Key.Namespace, Source: a.Facts.CauseSource, EventID: a.Facts.CauseEventID}
}
