package server

import (
	"context"

	pb "github.com/idemsvc/idemsvc/api/proto/idemsvc/v1"
	"github.com/idemsvc/idemsvc/idem"
)

// RecordSideEffect implements the contract's method.
func (s *idempotency) RecordSideEffect(ctx context.Context, req *pb.RecordSideEffectRequest) (*pb.RecordSideEffectResponse, error) {
	keys, err := s.tokens.load(ctx)
	if err != nil {
		return nil, err
	}
	cmd, phase, err := s.effectCommand(ctx, req)
	if err != nil {
		return nil, err
	}
	a, err := decide[*idem.EffectAnswer](ctx, s.core, cmd)
	if err != nil {
		return nil, fieldsAt(err, func(field string) string { return phase + field })
	}
	return effectResponse(a, keys), nil
}

// effectCommand is the command of the request's phase, and the path of that phase's
// fields.
func (s *idempotency) effectCommand(ctx context.Context, req *pb.RecordSideEffectRequest) (cmd idem.Command, phase string, err error) {
	if r := reportOf(req); r != nil {
		r.cmd.Token, err = s.effectToken(ctx, r.token, r.field)
		return r.cmd, "", err
	}
	subject, err := s.effectSubject(ctx, req)
	if err != nil {
		return nil, "", err
	}
	if b := req.GetBegin(); b != nil {
		return beginCommand(subject, b, s.nonces.next()), "begin.", nil
	}
	return recordCommand(subject, req.GetRecord()), "record.", nil
}

func (s *idempotency) effectSubject(ctx context.Context, req *pb.RecordSideEffectRequest) (effectSubject, error) {
	if o := req.GetOwner(); o != nil {
		return ownerSubject(o), enter(ctx, o.GetNamespace(), "owner.namespace")
	}
	t, err := s.claimToken(ctx, req.GetClaimToken(), "claim_token")
	if err != nil {
		return effectSubject{}, err
	}
	return tokenSubject(t), nil
}
