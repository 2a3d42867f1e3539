package server

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
	"github.com/idemsvc/idemsvc/storage/memory"
)

// ownPolicies is a server whose store goes by the policies that are applied.
func ownPolicies(t *testing.T) *fixture {
	t.Helper()
	return start(t, func(c *Config) {
		c.Store = storage.New(memory.New(memory.Options{}), storage.Options{})
		t.Cleanup(func() { _ = c.Store.Close(t.Context()) })
	})
}

func applyOf(policies ...*pb.Policy) *pb.ApplyPoliciesRequest {
	return &pb.ApplyPoliciesRequest{Namespace: shop, Policies: policies}
}

func TestPoliciesAreAppliedShownAndGoneBy(t *testing.T) {
	t.Parallel()
	f := ownPolicies(t)
	admin, reader := f.ops(t, "admin"), f.ops(t, "reader")
	first, err := reader.GetPolicies(t.Context(), &pb.GetPoliciesRequest{Namespace: shop})
	if err != nil || first.GetVersion().GetVersion() != 0 || len(first.GetEffective()) != len(idem.Settings) {
		t.Fatalf("%v %v", first, err)
	}
	for _, s := range first.GetEffective() {
		if s.GetValue() != s.GetDefaultValue() || s.GetReason() == "" || s.GetMeaning() == "" || s.GetLimits() == "" || s.From != nil {
			t.Errorf("%v", s)
		}
	}

	req := applyOf(
		&pb.Policy{MaxAttempts: proto.Int32(3)},
		&pb.Policy{Match: &pb.PolicyMatch{Consumer: "billing"}, MaxAttempts: proto.Int32(1), StaleClaim: pb.StaleClaim_STALE_CLAIM_HOLD},
	)
	req.DryRun, req.Why = true, "a person looks at money"
	dry, err := admin.ApplyPolicies(t.Context(), req)
	if err != nil || len(dry.GetChanges()) != 3 || dry.GetVersion().GetVersion() != 0 {
		t.Fatalf("dry run: %v %v", dry, err)
	}
	if now, err := reader.GetPolicies(t.Context(), &pb.GetPoliciesRequest{Namespace: shop}); err != nil || now.GetVersion().GetVersion() != 0 {
		t.Fatalf("after a dry run: %v %v", now.GetVersion(), err)
	}
	req.DryRun = false
	done, err := admin.ApplyPolicies(t.Context(), req)
	if err != nil || done.GetVersion().GetVersion() != 1 || done.GetVersion().GetAppliedBy() != "admin" || done.GetVersion().GetWhy() != req.GetWhy() || done.GetVersion().GetAppliedAt() == nil {
		t.Fatalf("%v %v", done, err)
	}
	// A repeat whose answer was lost makes no further version.
	req.BaseVersion = proto.Int32(0)
	if again, err := admin.ApplyPolicies(t.Context(), req); err != nil || again.GetVersion().GetVersion() != 1 || len(again.GetChanges()) != 0 {
		t.Fatalf("repeated: %v %v", again, err)
	}

	shown, err := reader.GetPolicies(t.Context(), &pb.GetPoliciesRequest{Namespace: shop, EffectiveFor: &pb.PolicyMatch{Consumer: "billing"}, History: 5})
	if err != nil || len(shown.GetPolicies()) != 2 || len(shown.GetHistory()) != 1 {
		t.Fatalf("%v %v", shown, err)
	}
	for i, p := range shown.GetPolicies() {
		if !proto.Equal(p, req.GetPolicies()[i]) {
			t.Errorf("applied %v, shown %v", req.GetPolicies()[i], p)
		}
	}
	for _, s := range shown.GetEffective() {
		if s.GetName() == "max_attempts" && (s.GetValue() != "1" || s.GetFrom().GetConsumer() != "billing" || s.GetDefaultValue() != "8") {
			t.Errorf("%v", s)
		}
	}

	// The next claim is decided by it.
	claim, err := f.client(t, "consumer").ClaimEvent(t.Context(), claimOf("e"))
	if err != nil || claim.GetClaim().GetMaxAttempts() != 1 {
		t.Fatalf("%v %v", claim, err)
	}
	other := claimOf("e")
	other.Consumer = "mailer"
	if claim, err = f.client(t, "consumer").ClaimEvent(t.Context(), other); err != nil || claim.GetClaim().GetMaxAttempts() != 3 {
		t.Fatalf("%v %v", claim, err)
	}

	// And all of them end with an empty list.
	if _, err := admin.ApplyPolicies(t.Context(), applyOf()); err != nil {
		t.Fatal(err)
	}
	old, err := reader.GetPolicies(t.Context(), &pb.GetPoliciesRequest{Namespace: shop, Version: 1})
	if err != nil || len(old.GetPolicies()) != 2 {
		t.Errorf("version 1: %v %v", old, err)
	}
	page, err := reader.GetPolicies(t.Context(), &pb.GetPoliciesRequest{Namespace: shop, History: 100, HistoryBefore: 2})
	if err != nil || len(page.GetHistory()) != 1 || page.GetHistory()[0].GetVersion() != 1 || page.GetVersion().GetVersion() != 2 {
		t.Errorf("history below 2: %v %v", page, err)
	}
}

func TestPoliciesAreRefused(t *testing.T) {
	t.Parallel()
	f := ownPolicies(t)
	admin := f.ops(t, "admin")
	if _, err := admin.ApplyPolicies(t.Context(), applyOf(&pb.Policy{MaxAttempts: proto.Int32(3)})); err != nil {
		t.Fatal(err)
	}
	stale := applyOf(&pb.Policy{MaxAttempts: proto.Int32(4)})
	stale.BaseVersion = proto.Int32(0)
	many := make([]*pb.Policy, 201)
	for i := range many {
		many[i] = &pb.Policy{Match: &pb.PolicyMatch{Consumer: strings.Repeat("c", i+1)}, MaxAttempts: proto.Int32(3)}
	}
	for name, c := range map[string]struct {
		req  *pb.ApplyPoliciesRequest
		want told
	}{
		"a limit": {applyOf(&pb.Policy{MaxAttempts: proto.Int32(3)}, &pb.Policy{Match: &pb.PolicyMatch{Source: "s"}, Lease: durationpb.New(13 * time.Hour)}), told{codes.InvalidArgument, "INVALID_ARGUMENT", "policies[1].lease"}},
		"a name":  {applyOf(&pb.Policy{Match: &pb.PolicyMatch{Source: " "}, MaxAttempts: proto.Int32(3)}), told{codes.InvalidArgument, "INVALID_ARGUMENT", "policies[0].match.source"}},
		"a long name": {
			applyOf(&pb.Policy{Match: &pb.PolicyMatch{Type: strings.Repeat("t", 513)}, MaxAttempts: proto.Int32(3)}),
			told{codes.InvalidArgument, "INVALID_ARGUMENT", "policies[0].match.type"},
		},
		"nothing":        {applyOf(&pb.Policy{}), told{codes.InvalidArgument, "INVALID_ARGUMENT", "policies[0]"}},
		"twice":          {applyOf(&pb.Policy{MaxAttempts: proto.Int32(3)}, &pb.Policy{MaxAttempts: proto.Int32(4)}), told{codes.InvalidArgument, "INVALID_ARGUMENT", "policies[1]"}},
		"too many":       {applyOf(many...), told{codes.InvalidArgument, "INVALID_ARGUMENT", "policies[200]"}},
		"an enumeration": {applyOf(&pb.Policy{Gap: 9}), told{codes.InvalidArgument, "INVALID_ARGUMENT", "policies[0].gap"}},
		"a time":         {applyOf(&pb.Policy{GapAfter: &durationpb.Duration{Seconds: 1, Nanos: -1}}), told{codes.InvalidArgument, "INVALID_ARGUMENT", "policies[0].gap_after"}},
		"a negative":     {applyOf(&pb.Policy{GapAfter: durationpb.New(-time.Second)}), told{codes.InvalidArgument, "INVALID_ARGUMENT", "policies[0].gap_after"}},
		"too short": {
			applyOf(&pb.Policy{Match: &pb.PolicyMatch{Source: "adyen"}, RetainEvents: durationpb.New(20 * 24 * time.Hour)}),
			told{codes.InvalidArgument, "INVALID_ARGUMENT", "policies[0].retain_events"},
		},
		"another version": {stale, told{codes.FailedPrecondition, "POLICIES_CHANGED", "base_version"}},
		"another namespace": {
			&pb.ApplyPoliciesRequest{Namespace: "other-live", Policies: []*pb.Policy{{MaxAttempts: proto.Int32(3)}}},
			told{codes.PermissionDenied, "UNKNOWN_NAMESPACE", "namespace"},
		},
	} {
		_, err := admin.ApplyPolicies(t.Context(), c.req)
		if got := toldBy(t, err); got != c.want {
			t.Errorf("%s: %+v, want %+v (%v)", name, got, c.want, err)
		}
	}
	for caller, want := range map[string]codes.Code{"consumer": codes.PermissionDenied, "reader": codes.PermissionDenied, "operator": codes.PermissionDenied, "admin": codes.OK} {
		if _, err := f.ops(t, caller).ApplyPolicies(t.Context(), &pb.ApplyPoliciesRequest{Namespace: shop, DryRun: true}); toldBy(t, err).code != want {
			t.Errorf("apply by %s: %v", caller, err)
		}
	}
	for caller, want := range map[string]codes.Code{"consumer": codes.PermissionDenied, "reader": codes.OK, "operator": codes.OK, "admin": codes.OK} {
		if _, err := f.ops(t, caller).GetPolicies(t.Context(), &pb.GetPoliciesRequest{Namespace: shop}); toldBy(t, err).code != want {
			t.Errorf("show to %s: %v", caller, err)
		}
	}
	if _, err := f.ops(t, "reader").GetPolicies(t.Context(), &pb.GetPoliciesRequest{Namespace: "other-live"}); toldBy(t, err) != (told{codes.PermissionDenied, "UNKNOWN_NAMESPACE", "namespace"}) {
		t.Errorf("another namespace: %v", err)
	}
	if _, err := f.ops(t, "reader").GetPolicies(t.Context(), &pb.GetPoliciesRequest{Namespace: shop, Version: 9}); toldBy(t, err) != (told{codes.NotFound, "NOT_FOUND", "version"}) {
		t.Errorf("a version that never was: %v", err)
	}
	now, err := f.ops(t, "reader").GetPolicies(t.Context(), &pb.GetPoliciesRequest{Namespace: shop})
	if err != nil || now.GetVersion().GetVersion() != 1 {
		t.Errorf("refused policies changed something: %v %v", now.GetVersion(), err)
	}
}
