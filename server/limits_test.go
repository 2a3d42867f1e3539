package server

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
)

// O-33: what is at a limit passes, what is over it is refused for good, and the claim
// lives.
func TestO33_LimitsAreFinalAndKeepTheClaim(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	for size, want := range map[int]told{
		1 << 20: {}, 1<<20 + 1: {codes.InvalidArgument, "INVALID_ARGUMENT", "event.payload"},
		5 << 20: {codes.InvalidArgument, "TOO_LARGE", ""}, 4 << 20: {codes.InvalidArgument, "TOO_LARGE", ""},
	} {
		req := claimOf(fmt.Sprint("evt-", size))
		req.Event.Body = &pb.Event_Payload{Payload: make([]byte, size)}
		_, err := c.ClaimEvent(t.Context(), req)
		if got := toldBy(t, err); got != want || retryOf(err) != 0 {
			t.Errorf("payload of %d bytes: %+v", size, got)
		}
	}
	claim := f.claimed(t, "evt")
	for _, size := range []int{65537, 4194304, 6 << 20} {
		_, err := c.CompleteEvent(t.Context(), &pb.CompleteEventRequest{Token: claim.GetToken(), Result: make([]byte, size)})
		if toldBy(t, err).code != codes.InvalidArgument {
			t.Errorf("result of %d bytes: %v", size, err)
		}
		f.stillMine(t, claim.GetToken())
	}
	result := bytes.Repeat([]byte{0xff, 0}, 32768)
	if _, err := c.CompleteEvent(t.Context(), &pb.CompleteEventRequest{Token: claim.GetToken(), Result: result}); err != nil {
		t.Fatal(err)
	}
	if r, err := c.ClaimEvent(t.Context(), claimOf("evt")); err != nil || !bytes.Equal(r.GetExisting().GetResult(), result) {
		t.Errorf("the result is not what was stored: %v", err)
	}
	part := strings.Repeat("é", 256)
	req := claimOf(part)
	req.Event.Source, req.Consumer, req.Event.Type = part, part, part
	if _, err := c.ClaimEvent(t.Context(), req); err != nil {
		t.Errorf("all names at their limit: %v", err)
	}
}

// P13: however large the stored results, the reply of a batch fits and says what is
// missing.
func TestP13_ABatchReplyFits(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	batch := &pb.ClaimEventsRequest{Namespace: shop, Consumer: "billing", Claimant: "first"}
	for i := range 100 {
		batch.Items = append(batch.Items, &pb.ClaimItem{Event: &pb.Event{Source: "s", EventId: fmt.Sprint(i)}})
	}
	first, err := c.ClaimEvents(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range first.GetResults() {
		done := &pb.CompleteEventRequest{Token: r.GetResponse().GetClaim().GetToken(), Result: make([]byte, 65536)}
		if _, err := c.CompleteEvent(t.Context(), done); err != nil {
			t.Fatal(err)
		}
	}
	batch.Claimant = "second"
	second, err := c.ClaimEvents(t.Context(), batch) // the client's own limit is 4 MiB
	if err != nil {
		t.Fatal(err)
	}
	whole, omitted := 0, 0
	for _, r := range second.GetResults() {
		x := r.GetResponse().GetExisting()
		switch {
		case x.GetState() != pb.EventState_EVENT_STATE_PROCESSED:
			t.Fatalf("%v", r)
		case x.GetResultOmitted():
			omitted++
		case len(x.GetResult()) == 65536:
			whole++
		}
	}
	if whole < 50 || omitted == 0 || whole+omitted != 100 {
		t.Errorf("%d whole, %d omitted", whole, omitted)
	}
}

func TestTheLeanestAnswersFit(t *testing.T) {
	t.Parallel()
	part := strings.Repeat("x", 512)
	failure := func() *pb.ProcessingError {
		return &pb.ProcessingError{Code: strings.Repeat("c", 128), Message: strings.Repeat("m", 4096)}
	}
	room, total := newBudget(1000), 0
	for i := range 1000 {
		r := &pb.ClaimEventResponse{BlockedBy: &pb.Blocker{Event: &pb.EventKey{Consumer: part, Source: part, EventId: part}, CurrentState: part}}
		if i%2 == 0 {
			r = &pb.ClaimEventResponse{Claim: &pb.Claim{
				Token: make([]byte, 1100), CorrelationId: part, PayloadRef: strings.Repeat("r", 2048), ContentType: strings.Repeat("t", 255),
				PayloadHash: make([]byte, 64), PreviousError: failure(), Payload: make([]byte, 1<<20),
			}, FirstDeliveryTrace: strings.Repeat("t", 55), CauseTrace: strings.Repeat("t", 55)}
		} else {
			r.Existing = &pb.ExistingEvent{Result: make([]byte, 65536), Error: failure(), Outputs: []string{part}, ResultContentType: strings.Repeat("t", 255)}
		}
		item := &pb.ClaimItemResult{Result: &pb.ClaimItemResult_Response{Response: r}}
		room.fitClaim(item)
		total += proto.Size(item)
	}
	if total > replyBytes {
		t.Errorf("%d bytes", total)
	}
}

// O-29: bytes that cannot be stored as text are refused by name or kept exactly.
func TestO29_TextIsStoredExactlyOrRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	for i, text := range []string{`{"result":"\u0000"}`, "/u0000", `\\u0000`, `\ud800`, "null", "<nil>", "undefined", "00000000-0000-0000-0000-000000000000"} {
		claim, err := c.ClaimEvent(t.Context(), claimOf(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		result := append([]byte(text), 0, 0xc3, 0x28)
		if _, err := c.CompleteEvent(t.Context(), &pb.CompleteEventRequest{Token: claim.GetClaim().GetToken(), Result: result}); err != nil {
			t.Fatal(err)
		}
		r, err := c.ClaimEvent(t.Context(), claimOf(text))
		if err != nil || !bytes.Equal(r.GetExisting().GetResult(), result) {
			t.Errorf("%d: %q", i, r.GetExisting().GetResult())
		}
	}
	token := f.claimed(t, "evt").GetToken()
	for _, text := range []string{"a\x00", badText} {
		_, err := c.FailEvent(t.Context(), &pb.FailEventRequest{Token: token, Error: &pb.ProcessingError{Code: "c", Kind: 1, Message: text}}, spoiling)
		if got := toldBy(t, err); got != (told{codes.InvalidArgument, "INVALID_ARGUMENT", "error.message"}) {
			t.Errorf("%+v", got)
		}
		if !utf8.ValidString(err.Error()) || strings.ContainsRune(err.Error(), 0) {
			t.Errorf("%q", err.Error())
		}
		f.stillMine(t, token)
	}
}

// O-30: a long error text is cut between characters and marked.
func TestO30_ErrorTextIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	long := strings.Repeat("西洋の樽（洋樽）は柾目板を使用👩‍👩‍👧しており、", 200)
	for n := maxErrorMessage - 3; n <= maxErrorMessage+3; n++ {
		text := cutText(long, n)
		text += strings.Repeat(".", n-len(text))
		id := fmt.Sprint("evt-", n)
		fail := &pb.FailEventRequest{Token: f.claimed(t, id).GetToken(), Error: &pb.ProcessingError{Code: "c", Kind: pb.FailureKind_FAILURE_KIND_TERMINAL, Message: text}}
		if _, err := c.FailEvent(t.Context(), fail); err != nil {
			t.Fatal(err)
		}
		r, err := c.ClaimEvent(t.Context(), claimOf(id))
		if err != nil {
			t.Fatal(err)
		}
		got := r.GetExisting().GetError()
		if cut := n > maxErrorMessage; got.GetMessageCut() != cut || !strings.HasPrefix(text, got.GetMessage()) || (!cut && got.GetMessage() != text) {
			t.Errorf("%d bytes: cut %v, %d kept", n, got.GetMessageCut(), len(got.GetMessage()))
		}
		if len(got.GetMessage()) < maxErrorMessage-16 {
			t.Errorf("%d bytes: only %d kept", n, len(got.GetMessage()))
		}
		if _, err := f.ops(t, "reader").GetEvent(t.Context(), &pb.GetEventRequest{Namespace: shop, Source: "stripe", EventId: id}); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// O-26: 64-bit numbers keep their digits, in JSON too.
func TestO26_NumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	for _, n := range []int64{2868860079149422351, 2868860079149422352, 9007199254740993, -9223372036854775808, 9223372036854775807} {
		req := checkOf(sequence(n), "r")
		req.Resource.Id = fmt.Sprint(n)
		if _, err := c.CheckVersion(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		req.RequestId = "later"
		r, err := c.CheckVersion(t.Context(), req)
		if err != nil || r.GetDecision() != pb.VersionDecision_VERSION_DECISION_TIED || r.GetCurrentVersion().GetSequence() != n {
			t.Errorf("%d: %v %v", n, r, err)
		}
		text, err := protojson.Marshal(r)
		if err != nil || !strings.Contains(string(text), fmt.Sprintf(`"%d"`, n)) {
			t.Errorf("%s %v", text, err)
		}
		back := &pb.CheckVersionResponse{}
		if err := protojson.Unmarshal(text, back); err != nil || back.GetCurrentVersion().GetSequence() != n {
			t.Errorf("%v %v", back, err)
		}
	}
	for _, id := range []string{"2868860079149422351", "2868860079149422352"} {
		f.claimed(t, id)
	}
}

// O-32: an ID that names nothing is no ID.
func TestO32_BlankNamesAreRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := f.client(t, "consumer")
	for _, blank := range []string{"", " ", "\t", "\u00a0\u2003"} {
		for field, change := range map[string]func(*pb.ClaimEventRequest){
			"event.event_id":      func(r *pb.ClaimEventRequest) { r.Event.EventId = blank },
			"event.source":        func(r *pb.ClaimEventRequest) { r.Event.Source = blank },
			"namespace":           func(r *pb.ClaimEventRequest) { r.Namespace = blank },
			"consumer":            func(r *pb.ClaimEventRequest) { r.Consumer = blank },
			"claimant":            func(r *pb.ClaimEventRequest) { r.Claimant = blank },
			"event.resource.id":   func(r *pb.ClaimEventRequest) { r.Event.Resource = &pb.Resource{Type: "t", Id: blank} },
			"event.resource.type": func(r *pb.ClaimEventRequest) { r.Event.Resource = &pb.Resource{Type: blank, Id: "i"} },
		} {
			req := claimOf("evt")
			change(req)
			_, err := c.ClaimEvent(t.Context(), req)
			if got := toldBy(t, err); got != (told{codes.InvalidArgument, "INVALID_ARGUMENT", field}) {
				t.Errorf("%q: %+v", blank, got)
			}
		}
	}
}
