package main

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// showList prints a list for people: a verdict, then each event.
func (c *cli) showList(namespace string, filter *pb.EventFilter, resp *pb.ListEventsResponse) {
	fmt.Fprintln(c.stdout, listVerdict(namespace, filter, resp))
	for _, x := range resp.GetEvents() {
		c.showListed(x, resp.GetDatabaseTime())
	}
}

// listVerdict is one sentence about a list: how many, how old, what to do.
func listVerdict(namespace string, filter *pb.EventFilter, resp *pb.ListEventsResponse) string {
	n := len(resp.GetEvents())
	what := filterWords(filter)
	if n == 0 {
		return fmt.Sprintf("No event%s in %s; nothing to do.", what, safe(namespace))
	}
	count := plural(int64(n), "event")
	if len(resp.GetNextPageToken()) > 0 {
		count = "More than " + count
	}
	said := fmt.Sprintf("%s%s in %s", count, what, safe(namespace))
	var oldest time.Duration
	todo := map[pb.EventState]bool{}
	damaged := 0
	for _, x := range resp.GetEvents() {
		oldest = max(oldest, age(x, resp.GetDatabaseTime()))
		todo[x.GetProcessing().GetState()] = true
		if x.GetDamaged() {
			damaged++
		}
	}
	if oldest > 0 {
		said += ", the longest for " + roughly(oldest)
	}
	if damaged > 0 {
		said += fmt.Sprintf("; %d cannot be read, the server's log says why", damaged)
	}
	if do := listTodo(todo); len(do) > 0 {
		said += "; to do: " + strings.Join(do, ", ")
	}
	return said + "."
}

// listTodo is what somebody does about the states of a list.
func listTodo(states map[pb.EventState]bool) []string {
	var do []string
	if states[pb.EventState_EVENT_STATE_HELD] {
		do = append(do, "find out what became of what is held, then «idemsvc resolve» it")
	}
	if states[pb.EventState_EVENT_STATE_DEAD_LETTERED] || states[pb.EventState_EVENT_STATE_FAILED_TERMINAL] {
		do = append(do, "mend the cause of what failed, then «idemsvc resolve --as retry» or «idemsvc replay» it")
	}
	if states[pb.EventState_EVENT_STATE_BLOCKED_LOOP] {
		do = append(do, "break the loop, then «idemsvc resolve --as retry»")
	}
	return do
}

// filterWords is what a filter says, for people.
func filterWords(f *pb.EventFilter) string {
	var out []string
	if f.GetStuck() {
		out = append(out, "stuck")
	}
	if f.GetReplayFailed() {
		out = append(out, "replayed without success")
	}
	var states []string
	for _, s := range f.GetStates() {
		states = append(states, word(s.String(), "EVENT_STATE_"))
	}
	if len(states) > 0 {
		out = append(out, strings.Join(states, " or "))
	}
	for _, x := range []struct{ name, value string }{
		{"for ", f.GetConsumer()}, {"from ", f.GetSource()}, {"of type ", f.GetType()}, {"with correlation ", f.GetCorrelationId()},
		{"about ", strings.TrimSpace(f.GetResource().GetType() + " " + f.GetResource().GetId())},
	} {
		if x.value != "" {
			out = append(out, x.name+safe(x.value))
		}
	}
	if f.GetFirstSeenFrom() != nil || f.GetFirstSeenUntil() != nil {
		out = append(out, "first delivered from "+when(f.GetFirstSeenFrom())+" until "+when(f.GetFirstSeenUntil()))
	}
	if len(out) == 0 {
		return ""
	}
	return " " + strings.Join(out, ", ")
}

// age is how long an event has been in its state, or has stood still.
func age(x *pb.ListedEvent, now *timestamppb.Timestamp) time.Duration {
	since := x.GetStandsSince()
	if since == nil {
		since = x.GetStateSince()
	}
	if since == nil || now == nil {
		return 0
	}
	return now.AsTime().Sub(since.AsTime())
}

// roughly is a duration for people.
func roughly(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return plural(int64(d/(24*time.Hour)), "day")
	case d >= time.Minute:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	default:
		return d.Round(time.Second).String()
	}
}

func (c *cli) showListed(x *pb.ListedEvent, now *timestamppb.Timestamp) {
	p := x.GetProcessing()
	head := fmt.Sprintf("%s from %s", safe(x.GetEvent().GetEventId()), safe(x.GetEvent().GetSource()))
	if x.GetEvent().GetType() != "" {
		head += " (" + safe(x.GetEvent().GetType()) + ")"
	}
	head += " for " + safe(p.GetConsumer()) + ": " + word(p.GetState().String(), "EVENT_STATE_")
	if d := age(x, now); d > 0 {
		head += " for " + roughly(d)
	}
	if p.GetReason() != "" {
		head += " (" + safe(p.GetReason()) + ")"
	}
	if x.GetDamaged() {
		head += ", cannot be read"
	}
	if p.GetReplayInProgress() {
		head += ", to be replayed"
	}
	fmt.Fprintln(c.stdout, head)
	c.line("first seen", when(p.GetFirstSeenAt()))
	if x.GetOwner() != "" {
		c.line("owner", fmt.Sprintf("%s, attempt %d", safe(x.GetOwner()), p.GetAttemptsTotal()))
	}
	c.line("waits", waiting(p))
	if x.GetFailures() > 0 {
		c.line("failed", fmt.Sprintf("%s, from %s to %s", times(int64(x.GetFailures())), when(x.GetFirstFailedAt()), when(x.GetLastFailedAt())))
	}
	for _, a := range p.GetAttempts() {
		if e := a.GetError(); e != nil {
			c.line("error", fmt.Sprintf("%d  %s  %s %s", a.GetAttempt(), when(a.GetEndedAt()), safe(e.GetCode()), safe(e.GetMessage())))
		}
		for _, l := range a.GetLateReports() {
			c.line("late", fmt.Sprintf("%d  %s", a.GetAttempt(), lateWords(l)))
		}
	}
	for _, f := range p.GetEffects() {
		c.line("effect", fmt.Sprintf("%s  %s, attempt %d", safe(f.GetKey()), word(f.GetState().String(), "EFFECT_STATE_"), f.GetAttempt()))
	}
	if p.GetReplays() > 0 {
		c.line("replayed", times(int64(p.GetReplays())))
	}
}

// waiting is what an event waits for, "" for nothing.
func waiting(p *pb.ConsumerView) string {
	w := p.GetWaiting()
	if w == nil {
		return ""
	}
	said := "for its " + word(w.GetWaitingFor().String(), "WAITING_FOR_")
	if e := w.GetBlockedBy().GetEvent(); e != nil {
		said += ", behind " + safe(e.GetEventId()) + " from " + safe(e.GetSource())
	}
	if w.GetWaitingSince() != nil {
		said += ", since " + when(w.GetWaitingSince())
	}
	return said
}

// lateWords is what an owner said after its claim was lost.
func lateWords(l *pb.LateReport) string {
	if l.GetFailed() != nil {
		return "reported a failure after it was lost: " + safe(l.GetFailed().GetCode())
	}
	return "reported completion after it was lost"
}
