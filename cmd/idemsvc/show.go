package main

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// showEvents prints what is known, for people.
func (c *cli) showEvents(resp *pb.GetEventResponse) {
	for i, e := range resp.GetEvents() {
		if i > 0 {
			fmt.Fprintln(c.stdout)
		}
		c.showEvent(e)
	}
	if resp.GetTruncated() {
		fmt.Fprintln(c.stdout, "\nMore senders used this ID: name one with --source.")
	}
}

func (c *cli) showEvent(e *pb.EventView) {
	w := c.stdout
	fmt.Fprintln(w, verdict(e))
	c.line("first seen", when(e.GetFirstSeenAt()))
	if r := e.GetEvent().GetResource(); r != nil {
		c.line("resource", safe(r.GetType())+" "+safe(r.GetId()))
	}
	c.line("correlation", safe(e.GetEvent().GetCorrelationId()))
	switch cause := e.GetEvent().GetCausation(); {
	case cause.GetEventRef() != nil:
		c.line("caused by", safe(cause.GetEventRef().GetEventId())+" from "+safe(cause.GetEventRef().GetSource()))
	case cause.GetText() != "":
		c.line("caused by", safe(cause.GetText()))
	}
	switch {
	case len(e.GetEvent().GetPayload()) > 0:
		c.line("payload", safe(string(e.GetEvent().GetPayload())))
	case e.GetPayloadSize() > 0:
		c.line("payload", plural(e.GetPayloadSize(), "byte"))
	}
	for _, d := range e.GetDeliveries() {
		what := []string{word(d.GetDisposition().String(), "DISPOSITION_")}
		if k := d.GetDelivery().GetKind(); k != 0 {
			what = append(what, word(k.String(), "DELIVERY_KIND_"))
		}
		for _, a := range d.GetAnomalies() {
			what = append(what, word(a.String(), "ANOMALY_"))
		}
		if a := d.GetAnswer(); a != nil {
			what = append(what, fmt.Sprintf("answered %d", a.GetHttpStatus()))
		}
		c.line("delivery", when(d.GetRecordedAt())+"  "+strings.Join(what, ", ")+inTrace(d.GetTrace()))
	}
	for _, x := range e.GetConsumers() {
		c.showConsumer(x)
	}
}

func (c *cli) showConsumer(x *pb.ConsumerView) {
	fmt.Fprintf(c.stdout, "%s: %s", safe(x.GetConsumer()), word(x.GetState().String(), "EVENT_STATE_"))
	if x.GetReason() != "" {
		fmt.Fprintf(c.stdout, " (%s)", safe(x.GetReason()))
	}
	fmt.Fprintln(c.stdout)
	if by := x.GetCarriedBy(); by != nil {
		c.line("carried by", safe(by.GetEventId())+" from "+safe(by.GetSource()))
	}
	for _, a := range x.GetAttempts() {
		end := "running"
		if a.GetEnd() != 0 {
			end = word(a.GetEnd().String(), "ATTEMPT_END_") + " after " + took(a.GetStartedAt(), a.GetEndedAt())
		}
		if err := a.GetError(); err != nil {
			end += ": " + safe(err.GetCode()) + " " + safe(err.GetMessage())
		}
		c.line("attempt", fmt.Sprintf("%d  %s  %s  by %s%s", a.GetAttempt(), when(a.GetStartedAt()), end, safe(a.GetOwner()), inTrace(a.GetTrace())))
	}
	if cl := x.GetClaim(); cl != nil {
		c.line("claim", fmt.Sprintf("by %s until %s", safe(cl.GetOwner()), when(cl.GetLeaseExpiresAt())))
	}
	for _, f := range x.GetEffects() {
		c.line("effect", fmt.Sprintf("%s  %s, attempt %d", safe(f.GetKey()), word(f.GetState().String(), "EFFECT_STATE_"), f.GetAttempt()))
	}
	for _, o := range x.GetOutputs() {
		c.line("output", safe(o))
	}
	switch {
	case len(x.GetResult()) > 0:
		c.line("result", safe(string(x.GetResult())))
	case x.GetResultSize() > 0:
		c.line("result", plural(x.GetResultSize(), "byte"))
	}
	if x.GetNextAttemptAt() != nil {
		c.line("next attempt", when(x.GetNextAttemptAt()))
	}
}

// inTrace says which trace something was in, by the ID in a W3C traceparent.
func inTrace(traceparent string) string {
	if part := strings.Split(traceparent, "-"); len(part) == 4 {
		return "  in trace " + safe(part[1])
	}
	return ""
}

// line prints a named value, if there is one.
func (c *cli) line(name, value string) {
	if value != "" {
		fmt.Fprintf(c.stdout, "  %-13s %s\n", name, value)
	}
}

func when(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().Format("2006-01-02T15:04:05.000Z07:00")
}

func took(from, to *timestamppb.Timestamp) string {
	return to.AsTime().Sub(from.AsTime()).Round(time.Millisecond).String()
}
