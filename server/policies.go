package server

import (
	"context"
	"errors"
	"fmt"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/internal/policypb"
	"github.com/idemsvc/idemsvc/storage"
)

// GetPolicies implements the contract's method.
func (s *operations) GetPolicies(ctx context.Context, req *pb.GetPoliciesRequest) (*pb.GetPoliciesResponse, error) {
	if err := enter(ctx, req.GetNamespace(), "namespace"); err != nil {
		return nil, err
	}
	set, err := s.store.Policies(ctx, req.GetNamespace(), req.GetVersion())
	if errors.Is(err, storage.ErrNoPolicies) {
		return nil, refused(pb.ErrorReason_ERROR_REASON_NOT_FOUND, "version", "the namespace's policies have no such version")
	}
	if err != nil {
		return nil, err
	}
	resp := &pb.GetPoliciesResponse{Version: policyVersion(set)}
	if resp.Policies, err = policypb.Policies(set.Rules); err != nil {
		return nil, err
	}
	of := req.GetEffectiveFor()
	for _, e := range idem.Explain(set.Rules, of.GetConsumer(), of.GetSource(), of.GetType()) {
		x := &pb.PolicySetting{
			Name: e.Setting.Name, Value: e.Value, DefaultValue: e.Setting.Default(),
			Meaning: e.Setting.Means, Reason: e.Setting.Why, Limits: e.Setting.Limits,
		}
		if e.From != nil {
			x.From = matchOf(e.From)
		}
		resp.Effective = append(resp.Effective, x)
	}
	if req.GetHistory() > 0 {
		history, err := s.store.PolicyHistory(ctx, req.GetNamespace(), req.GetHistoryBefore(), int(req.GetHistory()))
		if err != nil {
			return nil, err
		}
		for _, h := range history {
			resp.History = append(resp.History, policyVersion(h))
		}
	}
	return resp, nil
}

// ApplyPolicies implements the contract's method.
func (s *operations) ApplyPolicies(ctx context.Context, req *pb.ApplyPoliciesRequest) (*pb.ApplyPoliciesResponse, error) {
	if err := enter(ctx, req.GetNamespace(), "namespace"); err != nil {
		return nil, err
	}
	rules := policypb.Rules(req.GetPolicies())
	if r := refusePolicies(idem.CheckRules(rules)); r != nil {
		return nil, r
	}
	now, err := s.store.Policies(ctx, req.GetNamespace(), 0)
	if err != nil {
		return nil, err
	}
	resp := &pb.ApplyPoliciesResponse{Version: policyVersion(now)}
	for _, c := range idem.DiffRules(now.Rules, rules) {
		resp.Changes = append(resp.Changes, &pb.PolicyChange{Match: matchOf(&c.Rule), Setting: c.Setting, OldValue: c.Old, NewValue: c.New})
	}
	if len(resp.Changes) == 0 { // also a repeat whose answer was lost
		return resp, nil
	}
	if req.BaseVersion != nil && req.GetBaseVersion() != now.Version {
		return nil, errPoliciesChanged(now.Version)
	}
	if req.GetDryRun() {
		return resp, nil
	}
	applied, err := s.store.ApplyPolicies(ctx, storage.PolicySet{
		Namespace: req.GetNamespace(), Version: now.Version, Rules: rules, AppliedBy: identityOf(ctx).Name(), Why: req.GetWhy(),
	})
	if errors.Is(err, storage.ErrPoliciesChanged) {
		return nil, errPoliciesChanged(0)
	}
	if err != nil {
		return nil, err
	}
	s.log.InfoContext(ctx, "policies applied", logNamespace, req.GetNamespace(), "version", applied.Version, "by", applied.AppliedBy, "changes", len(resp.GetChanges()))
	resp.Version = policyVersion(applied)
	return resp, nil
}

func policyVersion(p storage.PolicySet) *pb.PolicyVersion {
	return &pb.PolicyVersion{Version: p.Version, AppliedAt: instant(p.AppliedAt), AppliedBy: p.AppliedBy, Why: p.Why}
}

// matchOf names the events of a rule; it is there for every event, too.
func matchOf(r *idem.Rule) *pb.PolicyMatch {
	return &pb.PolicyMatch{Consumer: r.Consumer, Source: r.Source, Type: r.Type}
}

// refusePolicies tells what is wrong with policies, as far as there is room; nil for nothing.
func refusePolicies(problems []idem.Problem) *refusal {
	if len(problems) == 0 {
		return nil
	}
	r := &refusal{reason: pb.ErrorReason_ERROR_REASON_INVALID_ARGUMENT}
	for _, p := range problems[:min(len(problems), maxViolations)] {
		field := fmt.Sprintf("policies[%d]", p.Rule)
		switch p.Field {
		case "":
		case "consumer", "source", "type":
			field += ".match." + p.Field
		default:
			field += "." + p.Field
		}
		r.fields = append(r.fields, violation{field, cutText(p.Message, maxProblem)})
	}
	r.message = r.fields[0].message
	if n := len(problems) - 1; n > 0 {
		r.message += fmt.Sprintf(" (and %d more)", n)
	}
	return r
}

// maxProblem bounds what is told of one problem: it travels in a header.
const maxProblem = 512

func errPoliciesChanged(now int32) *refusal {
	message := "other policies have been applied meanwhile"
	if now != 0 {
		message = fmt.Sprintf("version %d is in force by now", now)
	}
	return refused(pb.ErrorReason_ERROR_REASON_POLICIES_CHANGED, "base_version", message)
}
