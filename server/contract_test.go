package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/server/auth"
	"github.com/idemsvc/idemsvc/storage"
)

func TestEveryMethodStatesARole(t *testing.T) {
	t.Parallel()
	methods, roles := 0, methodRoles()
	protoregistry.GlobalFiles.RangeFilesByPackage("idemsvc.v1", func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			for j := range s.Methods().Len() {
				methods++
				name := "/" + string(s.FullName()) + "/" + string(s.Methods().Get(j).Name())
				if roles[name] == pb.Role_ROLE_UNSPECIFIED {
					t.Errorf("%s states no role", name)
				}
			}
		}
		return true
	})
	if methods == 0 {
		t.Fatal("no methods found")
	}
	a := &access{anonymous: auth.NewIdentity("a", auth.Admin)}
	if allows(a.anonymous.Role(), pb.Role_ROLE_UNSPECIFIED) {
		t.Error("a method without a role is allowed")
	}
}

func TestEveryReasonHasItsCode(t *testing.T) {
	t.Parallel()
	for n, name := range pb.ErrorReason_name {
		if code, ok := reasonCodes()[pb.ErrorReason(n)]; n != 0 && (!ok || code == codes.OK) {
			t.Errorf("%s has no gRPC code", name)
		}
	}
}

func TestEveryErrorHasAReason(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	want := map[error]codes.Code{
		storage.ErrUnavailable: codes.Unavailable, storage.ErrFull: codes.Unavailable, storage.ErrOverloaded: codes.ResourceExhausted,
		storage.ErrContended: codes.Unavailable, storage.ErrClosed: codes.Unavailable, storage.ErrSchema: codes.Unavailable,
		storage.ErrRestored: codes.Unavailable,
		context.Canceled:    codes.Canceled, context.DeadlineExceeded: codes.DeadlineExceeded, errTest: codes.Internal,
	}
	for err, code := range want {
		r := refuse(t.Context(), log, fmt.Errorf("wrapped: %w", err))
		if r.code() != code || r.GRPCStatus().Code() != code {
			t.Errorf("%v: %s", err, r.code())
		}
		if !errors.Is(err, errTest) && r.retry <= 0 {
			t.Errorf("%v: no RetryInfo", err)
		}
	}
	for _, c := range []idem.Code{
		idem.CodeClaimLost, idem.CodeClaimExpired, idem.CodeAlreadyEnded, idem.CodeOpenEffects, idem.CodeEffectLost, idem.CodeEffectLimit,
		idem.CodeKindMismatch, idem.CodeKeyCollision, idem.CodeInvalid, idem.CodeUnknownMach, idem.CodeNotFound, idem.CodeNotResolvable, idem.CodeReplayRefused,
	} {
		r := refuse(t.Context(), log, &idem.Error{Code: c, Field: "f", Detail: "d"})
		if reasonName(r.reason) != string(c) || r.field() != "f" || r.retry != 0 {
			t.Errorf("%s: %v", c, r)
		}
	}
}

func TestEnumerationsAreNumberedAlike(t *testing.T) {
	t.Parallel()
	check := func(e protoreflect.Enum, prefix string, n int, name func(int) string) {
		t.Helper()
		for i := 1; i <= n; i++ {
			v := e.Descriptor().Values().ByNumber(protoreflect.EnumNumber(i))
			if v == nil || string(v.Name()) != prefix+name(i) {
				t.Errorf("%d: %v is not %s", i, v, name(i))
			}
		}
		if e.Descriptor().Values().Len() != n+1 {
			t.Errorf("%s has %d values", e.Descriptor().Name(), e.Descriptor().Values().Len())
		}
	}
	check(pb.ClaimOutcome(0), "CLAIM_OUTCOME_", 16, func(i int) string { return idem.Outcome(i).String() })
	check(pb.ReceiveOutcome(0), "RECEIVE_OUTCOME_", 5, func(i int) string { return idem.ReceiveOutcome(i).String() })
	check(pb.EventState(0), "EVENT_STATE_", 10, func(i int) string { return idem.State(i).String() })
	check(pb.VersionDecision(0), "VERSION_DECISION_", 7, func(i int) string { return idem.Verdict(i).String() })
	check(pb.EffectOutcome(0), "EFFECT_OUTCOME_", 9, func(i int) string { return idem.EffectVerdict(i).String() })
	check(pb.EffectState(0), "EFFECT_STATE_", 4, func(i int) string { return idem.EffectState(i).String() })
	check(pb.Disposition(0), "DISPOSITION_", 7, func(i int) string { return idem.Disposition(i).String() })
	same := map[protoreflect.Enum]int{
		pb.Advice_ADVICE_REPEAT_LATER: int(idem.AdviceRepeatLater), pb.Anomaly_ANOMALY_POST_RESTORE: int(idem.AnomalyRestored),
		pb.DeliveryKind_DELIVERY_KIND_CLIENT_REPEAT: int(idem.ClientRepeat), pb.SignatureStatus_SIGNATURE_STATUS_NOT_CHECKED: int(idem.NotChecked),
		pb.FailureKind_FAILURE_KIND_NOT_YET: int(idem.NotYet), pb.StaleClaim_STALE_CLAIM_HOLD: int(idem.Hold),
		pb.OnUnknown_ON_UNKNOWN_HOLD: int(idem.UnknownHold), pb.EffectScope_EFFECT_SCOPE_NAMESPACE: int(idem.NamespaceScope),
		pb.OrderingMode_ORDERING_MODE_SEQUENTIAL: int(idem.Sequential), pb.OrderingMode_ORDERING_MODE_SIGNAL: int(idem.Signal), pb.WaitingFor_WAITING_FOR_TRANSITION: int(idem.WaitingStep),
	}
	for e, n := range same {
		if int(e.Number()) != n {
			t.Errorf("%v is %d", e, n)
		}
	}
}
