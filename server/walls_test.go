package server

import (
	"context"
	"encoding/binary"
	"testing"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

// P10, O-13: one event ID in two namespaces. Nothing of one is told to the other, and
// no guess tells whether an event exists.
func TestP10_WallsHold(t *testing.T) {
	t.Parallel()
	f := start(t)
	claim := f.claimed(t, "order-1")
	if _, err := f.client(t, "consumer").CompleteEvent(t.Context(), &pb.CompleteEventRequest{Token: claim.GetToken(), Result: []byte(`{"resource":"a-123"}`)}); err != nil {
		t.Fatal(err)
	}
	other := f.client(t, "other")
	theirs := claimOf("order-1")
	theirs.Namespace = "other-live"
	r, err := other.ClaimEvent(t.Context(), theirs)
	if err != nil || r.GetOutcome() != pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED || r.GetExisting() != nil {
		t.Fatalf("%v %v", r, err)
	}
	tokens := [][]byte{claim.GetToken(), {1}, {2}, {3}, binary.BigEndian.AppendUint64(nil, 1), make([]byte, 80)}
	keys := testKeys(t) // another key: a token forged with full knowledge of the format
	tokens = append(tokens, keys.sealClaim(idem.Token{Namespace: "other-live", Consumer: "billing", Fence: 1}))
	begin := &pb.EffectBegin{Scope: pb.EffectScope_EFFECT_SCOPE_EVENT, Key: "k", BeginId: "b"}
	for i, token := range tokens {
		check := checkOf(sequence(1), "")
		check.Namespace, check.ClaimToken = "other-live", token
		subject := &pb.RecordSideEffectRequest_ClaimToken{ClaimToken: token}
		for name, call := range map[string]func(context.Context) error{
			"complete": func(ctx context.Context) error {
				_, err := other.CompleteEvent(ctx, &pb.CompleteEventRequest{Token: token})
				return err
			},
			"fail": func(ctx context.Context) error {
				_, err := other.FailEvent(ctx, &pb.FailEventRequest{Token: token, Error: &pb.ProcessingError{Code: "c", Kind: 1}})
				return err
			},
			"extend": func(ctx context.Context) error {
				_, err := other.ExtendClaim(ctx, &pb.ExtendClaimRequest{Token: token})
				return err
			},
			"release": func(ctx context.Context) error {
				_, err := other.ReleaseClaim(ctx, &pb.ReleaseClaimRequest{Token: token})
				return err
			},
			"check": func(ctx context.Context) error { _, err := other.CheckVersion(ctx, check); return err },
			"begin": func(ctx context.Context) error {
				_, err := other.RecordSideEffect(ctx, &pb.RecordSideEffectRequest{Subject: subject, Phase: &pb.RecordSideEffectRequest_Begin{Begin: begin}})
				return err
			},
			"done": func(ctx context.Context) error {
				_, err := other.RecordSideEffect(ctx, &pb.RecordSideEffectRequest{Phase: &pb.RecordSideEffectRequest_Done{Done: &pb.EffectDone{EffectToken: token}}})
				return err
			},
		} {
			if got := toldBy(t, call(t.Context())); got.code != codes.InvalidArgument || got.reason != "INVALID_TOKEN" {
				t.Errorf("%s with token %d: %+v", name, i, got)
			}
		}
	}
	if _, err := f.ops(t, "reader").GetEvent(t.Context(), &pb.GetEventRequest{Namespace: "other-live", EventId: "order-1"}); toldBy(t, err).reason != "UNKNOWN_NAMESPACE" {
		t.Errorf("%v", err)
	}
	if _, err := f.ops(t, "reader").GetEvent(t.Context(), &pb.GetEventRequest{Namespace: shop, EventId: "order-2"}); toldBy(t, err).reason != "NOT_FOUND" {
		t.Errorf("%v", err)
	}
}

// O-13, step 4: parts that run together are different keys.
func TestO13_PartsAreNotJoined(t *testing.T) {
	t.Parallel()
	f := start(t)
	for _, key := range [][2]string{{"a", "b:c"}, {"a:b", "c"}} {
		req := claimOf("evt")
		req.Namespace, req.Consumer = key[0], key[1]
		if r, err := f.client(t, "colons").ClaimEvent(t.Context(), req); err != nil || r.GetOutcome() != pb.ClaimOutcome_CLAIM_OUTCOME_CLAIMED {
			t.Errorf("%v: %v %v", key, r, err)
		}
	}
	for _, key := range [][2]string{{"a", ""}, {"", "a"}} {
		req := claimOf("evt")
		req.Namespace, req.Consumer = key[0], key[1]
		if _, err := f.client(t, "colons").ClaimEvent(t.Context(), req); toldBy(t, err).reason != "INVALID_ARGUMENT" {
			t.Errorf("%v: %v", key, err)
		}
	}
}

func TestRolesAndTokens(t *testing.T) {
	t.Parallel()
	f := start(t)
	get := &pb.GetEventRequest{Namespace: shop, EventId: "none"}
	for caller, want := range map[string][3]string{ // claim, look up, info
		"consumer":    {"", "PERMISSION_DENIED", ""},
		"reader":      {"PERMISSION_DENIED", "NOT_FOUND", ""},
		"operator":    {"PERMISSION_DENIED", "NOT_FOUND", ""},
		"admin":       {"", "NOT_FOUND", ""},
		"":            {"UNAUTHENTICATED", "UNAUTHENTICATED", "UNAUTHENTICATED"},
		"idk_unknown": {"UNAUTHENTICATED", "UNAUTHENTICATED", "UNAUTHENTICATED"},
	} {
		_, claim := f.client(t, caller).ClaimEvent(t.Context(), claimOf("evt-"+caller))
		_, look := f.ops(t, caller).GetEvent(t.Context(), get)
		_, info := f.ops(t, caller).GetServerInfo(t.Context(), &pb.GetServerInfoRequest{})
		if got := [3]string{toldBy(t, claim).reason, toldBy(t, look).reason, toldBy(t, info).reason}; got != want {
			t.Errorf("%q: %v", caller, got)
		}
		stream, err := f.client(t, caller).Session(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.CloseSend()
		_, err = stream.Recv()
		if toldBy(t, err).reason != want[0] {
			t.Errorf("%q: session %v", caller, err)
		}
	}
	if err := f.conn(t, "").Invoke(t.Context(), "/idemsvc.v1.IdempotencyService/Guess", get, get); toldBy(t, err).reason != "UNAUTHENTICATED" {
		t.Errorf("%v", err)
	}
	if err := f.conn(t, "admin").Invoke(t.Context(), "/other.v1.Service/Guess", get, get); toldBy(t, err) != (told{codes.Unimplemented, "UNIMPLEMENTED", ""}) {
		t.Errorf("%v", err)
	}
}

func TestHealthNeedsNoTokenAndReflectionNeedsOne(t *testing.T) {
	t.Parallel()
	f := start(t)
	if _, err := healthpb.NewHealthClient(f.conn(t, "")).Check(t.Context(), &healthpb.HealthCheckRequest{Service: LivenessService}); err != nil {
		t.Error(err)
	}
	for caller, code := range map[string]codes.Code{"": codes.Unauthenticated, "reader": codes.OK} {
		stream, err := reflectionpb.NewServerReflectionClient(f.conn(t, caller)).ServerReflectionInfo(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
		_, err = stream.Recv()
		if toldBy(t, err).code != code {
			t.Errorf("%q: %v", caller, err)
		}
		_ = stream.CloseSend()
	}
}

func TestAnonymousServersAreForDevelopment(t *testing.T) {
	t.Parallel()
	f := start(t, func(c *Config) { c.Auth, c.AllowAnonymous = nil, true })
	req := claimOf("evt")
	if _, err := f.client(t, "").ClaimEvent(t.Context(), req); toldBy(t, err).reason != "UNKNOWN_NAMESPACE" {
		t.Errorf("%v", err)
	}
	req.Namespace = "dev"
	if _, err := f.client(t, "").ClaimEvent(t.Context(), req); err != nil {
		t.Error(err)
	}
	if _, err := New(Config{Store: f.store}); err == nil {
		t.Error("a server without tokens started unasked")
	}
	if _, err := New(Config{Store: f.store, Auth: f.table(t), AllowAnonymous: true}); err == nil {
		t.Error("a server with tokens serves everybody")
	}
}
