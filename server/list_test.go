package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// failed claims an event and fails it for good.
func (f *fixture) failed(t *testing.T, id string) {
	t.Helper()
	c := f.claimed(t, id)
	_, err := f.client(t, "consumer").FailEvent(t.Context(), &pb.FailEventRequest{
		Token: c.GetToken(), Error: &pb.ProcessingError{Code: "BROKEN", Message: "no", Kind: pb.FailureKind_FAILURE_KIND_TERMINAL},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func inStates(states ...pb.EventState) *pb.EventFilter { return &pb.EventFilter{States: states} }

// listed reads all pages of a list.
func (f *fixture) listed(t *testing.T, filter *pb.EventFilter, size int32) []*pb.ListedEvent {
	t.Helper()
	var out []*pb.ListedEvent
	var token []byte
	for range 1000 {
		r, err := f.ops(t, "reader").ListEvents(t.Context(), &pb.ListEventsRequest{Namespace: shop, Filter: filter, PageSize: size, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		if n := proto.Size(r); n > replyBytes {
			t.Errorf("a page of %d bytes", n)
		}
		out = append(out, r.GetEvents()...)
		if token = r.GetNextPageToken(); len(token) == 0 {
			return out
		}
	}
	t.Fatal("the list does not end")
	return nil
}

func idsOf(list []*pb.ListedEvent) []string {
	var out []string
	for _, x := range list {
		out = append(out, x.GetEvent().GetEventId())
	}
	slices.Sort(out)
	return out
}

func TestEventsAreListedPageByPage(t *testing.T) {
	t.Parallel()
	f := start(t)
	var want []string
	for i := range 12 {
		f.failed(t, fmt.Sprint("e", i))
		want = append(want, fmt.Sprint("e", i))
	}
	slices.Sort(want)
	f.claimed(t, "live")
	for _, size := range []int32{0, 1, 5} {
		if got := idsOf(f.listed(t, inStates(pb.EventState_EVENT_STATE_FAILED_TERMINAL), size)); !slices.Equal(got, want) {
			t.Errorf("pages of %d: %v", size, got)
		}
	}
	x := f.listed(t, &pb.EventFilter{CorrelationId: "e7"}, 0)
	if len(x) != 1 {
		t.Fatalf("%v", x)
	}
	c := x[0].GetProcessing()
	if x[0].GetFailures() != 1 || x[0].GetFirstFailedAt() == nil || !strings.HasPrefix(x[0].GetOwner(), "consumer ") || x[0].GetDeliveries() != 1 {
		t.Errorf("%v", x[0])
	}
	if len(c.GetAttempts()) != 1 || c.GetAttempts()[0].GetError().GetCode() != "BROKEN" || c.GetLastError().GetCode() != "BROKEN" {
		t.Errorf("no history of errors: %v", c)
	}
	now := f.clock.Now().Time()
	hour := &pb.EventFilter{FirstSeenFrom: timestamppb.New(now.Add(-time.Hour)), FirstSeenUntil: timestamppb.New(now.Add(time.Hour)), Consumer: "billing"}
	if got := f.listed(t, hour, 4); len(got) != 13 {
		t.Errorf("%d events of an hour", len(got))
	}
}

func TestListsAreServedByAnIndexOrRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	now := timestamppb.Now()
	for name, tt := range map[string]struct {
		filter *pb.EventFilter
		field  string
	}{
		"none":             {nil, "filter"},
		"all":              {&pb.EventFilter{}, "filter"},
		"a type":           {&pb.EventFilter{Type: "t"}, "filter"},
		"a source":         {&pb.EventFilter{Source: "s", Consumer: "c"}, "filter"},
		"processed":        {inStates(pb.EventState_EVENT_STATE_PROCESSED), "filter"},
		"half a range":     {&pb.EventFilter{FirstSeenFrom: now}, "filter"},
		"a wide range":     {&pb.EventFilter{FirstSeenFrom: timestamppb.New(now.AsTime().Add(-32 * 24 * time.Hour)), FirstSeenUntil: now}, "filter"},
		"an empty range":   {&pb.EventFilter{FirstSeenFrom: now, FirstSeenUntil: now}, "filter.first_seen_until"},
		"a short patience": {&pb.EventFilter{Stuck: true, StuckAfter: durationpb.New(time.Millisecond)}, "filter.stuck_after"},
		"a long patience":  {&pb.EventFilter{Stuck: true, StuckAfter: durationpb.New(31*24*time.Hour + time.Second)}, "filter.stuck_after"},
		"an idle patience": {&pb.EventFilter{ReplayFailed: true, StuckAfter: durationpb.New(time.Hour)}, "filter.stuck_after"},
		"no state":         {inStates(0), "filter.states[0]"},
		"half a resource":  {&pb.EventFilter{Resource: &pb.Resource{Type: "order"}}, "filter.resource.id"},
	} {
		_, err := f.ops(t, "reader").ListEvents(t.Context(), &pb.ListEventsRequest{Namespace: shop, Filter: tt.filter})
		if got := toldBy(t, err); got != (told{codes.InvalidArgument, "INVALID_ARGUMENT", tt.field}) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
	_, err := f.ops(t, "reader").ListEvents(t.Context(), &pb.ListEventsRequest{Namespace: shop, Filter: &pb.EventFilter{Type: "t"}})
	for _, word := range []string{"HELD", "stuck", "correlation_id", "first_seen_from", "31 days"} {
		if !strings.Contains(fmt.Sprint(err), word) {
			t.Errorf("%v does not name %s", err, word)
		}
	}
}

// P10: lists of one namespace show nothing of another, and a page token is good for the
// filter that it came from and for nothing else.
func TestP10_ListsKeepWithinTheirWalls(t *testing.T) {
	t.Parallel()
	f := start(t, func(c *Config) {
		c.Auth = nil
		c.AllowAnonymous = true
		c.AnonymousNamespaces = []string{shop, "other-live"}
	})
	ops := f.ops(t, "")
	for _, ns := range []string{shop, "other-live"} {
		for i := range 3 {
			req := claimOf(fmt.Sprint(ns, i))
			req.Namespace = ns
			r, err := f.client(t, "").ClaimEvent(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.client(t, "").FailEvent(t.Context(), &pb.FailEventRequest{Token: r.GetClaim().GetToken(), Error: &pb.ProcessingError{Code: "c", Kind: 2}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	req := &pb.ListEventsRequest{Namespace: shop, Filter: inStates(pb.EventState_EVENT_STATE_FAILED_TERMINAL), PageSize: 2}
	r, err := ops.ListEvents(t.Context(), req)
	if err != nil || len(r.GetEvents()) != 2 || len(r.GetNextPageToken()) == 0 {
		t.Fatalf("%v %v", r, err)
	}
	for _, x := range r.GetEvents() {
		if !strings.HasPrefix(x.GetEvent().GetEventId(), shop) {
			t.Errorf("%v in a list of %s", x, shop)
		}
	}
	token := r.GetNextPageToken()
	altered := slices.Clone(token)
	altered[20] ^= 1
	for name, change := range map[string]func(*pb.ListEventsRequest){
		"another namespace": func(q *pb.ListEventsRequest) { q.Namespace = "other-live" },
		"another filter":    func(q *pb.ListEventsRequest) { q.Filter = inStates(pb.EventState_EVENT_STATE_HELD) },
		"altered":           func(q *pb.ListEventsRequest) { q.PageToken = altered },
		"cut":               func(q *pb.ListEventsRequest) { q.PageToken = token[:len(token)-1] },
		"made up":           func(q *pb.ListEventsRequest) { q.PageToken = make([]byte, len(token)) },
	} {
		q := proto.CloneOf(req)
		q.PageToken = token
		change(q)
		if _, err := ops.ListEvents(t.Context(), q); toldBy(t, err) != (told{codes.InvalidArgument, "INVALID_ARGUMENT", "page_token"}) {
			t.Errorf("%s: %v", name, err)
		}
	}
	req.PageToken, req.PageSize = token, 200 // the size may change
	if r, err := ops.ListEvents(t.Context(), req); err != nil || len(r.GetEvents()) != 1 || len(r.GetNextPageToken()) != 0 {
		t.Errorf("%v %v", r, err)
	}
}

// shelved is a backend that lists what it was given.
type shelved struct {
	library
	views []storage.View
	q     storage.ListQuery
}

func (l *shelved) List(_ context.Context, q storage.ListQuery) (storage.Listed, error) {
	l.q = q
	var out storage.Listed
	for i := int(q.After.At); i < len(l.views) && len(out.Views) < q.Limit; i++ {
		out.Views, out.Cursors = append(out.Views, l.views[i]), append(out.Cursors, storage.Cursor{At: idem.Instant(i + 1)})
		out.Next, out.More = out.Cursors[len(out.Cursors)-1], i+1 < len(l.views)
	}
	return out, nil
}

func (l *shelved) Secret(context.Context) ([]byte, error) { return make([]byte, 32), nil }

// O-30, O-34, P11: rows that cannot be sent as they are, or not be read, do not break the
// page, and are on it.
func TestO34_OneBadRowNeverBreaksAList(t *testing.T) {
	t.Parallel()
	l := &shelved{}
	for i := range 20 {
		v := viewOf("s", "billing")
		v.Event.Key.EventID = fmt.Sprint("e", i)
		l.views = append(l.views, v)
	}
	bad := viewOf("s", "bill\xffing")
	bad.Event.Key.EventID, bad.Event.Error.Message, bad.Event.Facts.Type = "e\xff", "cut \xe6\x97", "\xc3("
	gone := storage.View{Event: &idem.Event{Key: idem.EventKey{EventRef: idem.EventRef{Namespace: shop, Source: "s", EventID: "gone"}, Consumer: "c"}, State: idem.Held}, Damaged: true}
	l.views = append(l.views, bad, gone)
	f := start(t, func(c *Config) {
		l.Backend = &brokenBackend{Backend: panicking{}}
		c.Store = storage.New(l, storage.Options{})
		c.HealthInterval = time.Hour
	})
	got := f.listed(t, inStates(pb.EventState_EVENT_STATE_HELD), 0)
	if len(got) != 22 || !utf8.ValidString(got[20].GetEvent().GetEventId()) || !got[21].GetDamaged() || got[21].GetEvent().GetEventId() != "gone" {
		t.Errorf("%d events, the last %v", len(got), got[len(got)-1])
	}
}

// P13: a page is cut by its bytes, and the next one begins where it was cut.
func TestP13_AListIsCutByBytes(t *testing.T) {
	t.Parallel()
	l := &shelved{}
	for i := range 40 {
		v := viewOf("s", "billing")
		v.Event.Key.EventID = fmt.Sprint("e", i)
		for j := range 200 {
			v.Attempts = append(v.Attempts, idem.Attempt{Fence: int64(j), Number: int32(j), Error: idem.Failure{Code: "c", Message: strings.Repeat("m", 4096)}, End: idem.EndFailed, EndedAt: idem.Instant(j)})
		}
		for range idem.MaxEffects {
			v.Effects = append(v.Effects, &idem.Effect{
				Key: idem.EffectKey{Scope: idem.EventScope, Key: strings.Repeat("k", 512)}, Target: strings.Repeat("t", 512), State: idem.EffectDone, Result: make([]byte, 1024),
			})
		}
		l.views = append(l.views, v)
	}
	f := start(t, func(c *Config) {
		l.Backend = &brokenBackend{Backend: panicking{}}
		c.Store = storage.New(l, storage.Options{})
		c.HealthInterval = time.Hour
	})
	got := f.listed(t, inStates(pb.EventState_EVENT_STATE_HELD), 200)
	if ids := idsOf(got); len(got) != 40 || len(slices.Compact(ids)) != 40 {
		t.Errorf("%d events", len(got))
	}
	x := got[0]
	if len(x.GetProcessing().GetAttempts()) != listedTries || x.GetProcessing().GetAttemptsOmitted() != 201-listedTries || x.GetFailures() != 200 {
		t.Errorf("%d attempts, %d omitted, %d failures", len(x.GetProcessing().GetAttempts()), x.GetProcessing().GetAttemptsOmitted(), x.GetFailures())
	}
	if e := x.GetProcessing().GetEffects()[0]; !e.GetResultOmitted() || len(e.GetResult()) != 0 {
		t.Errorf("%v", e)
	}
}

func TestConsequencesAreShown(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.claimed(t, "cause")
	for _, consumer := range []string{"billing", "mailer"} {
		req := claimOf("effect")
		req.Consumer = consumer
		req.Event.Causation = &pb.Causation{Cause: &pb.Causation_EventRef{EventRef: &pb.EventRef{Source: "stripe", EventId: "cause"}}}
		if _, err := f.client(t, "consumer").ClaimEvent(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	r, err := f.ops(t, "reader").GetEvent(t.Context(), &pb.GetEventRequest{Namespace: shop, EventId: "cause"})
	if err != nil || len(r.GetEvents()[0].GetConsequences()) != 1 || r.GetEvents()[0].GetConsequences()[0].GetEventId() != "effect" {
		t.Errorf("%v %v", r, err)
	}
}
