package storage

import (
	"context"
	"errors"

	"github.com/idemsvc/idemsvc/idem"
)

// Policies keeps the policies of namespaces, every version of them.
type Policies interface {
	// Policies is a version of a namespace's policies; 0 is the one in force. Where none
	// was ever applied, that is an empty one of version 0; a version that never was is
	// ErrNoPolicies.
	Policies(ctx context.Context, namespace string, version int32) (PolicySet, error)
	// PolicyHistory is the versions of a namespace's policies without their rules, the
	// newest first; at most limit of those below a version, or of all where before is 0.
	PolicyHistory(ctx context.Context, namespace string, before int32, limit int) ([]PolicySet, error)
	// ApplyPolicies puts policies into force, here at once and on every other replica
	// within a second, as the version after s.Version; it answers with that version and its
	// moment. Where another one is in force than s.Version, it is refused with
	// ErrPoliciesChanged. The rules have been checked ([idem.CheckRules]).
	ApplyPolicies(ctx context.Context, s PolicySet) (PolicySet, error)
}

// PolicySet is a namespace's policies as somebody applied them.
type PolicySet struct {
	Namespace string
	Version   int32 // from 1; what the journal names
	Rules     []idem.Rule
	AppliedAt idem.Instant
	AppliedBy string
	Why       string
}

// Errors of policies.
var (
	// ErrNoPolicies: there is no such version.
	ErrNoPolicies = errors.New("no such version of the policies")
	// ErrPoliciesChanged: somebody else applied policies in between.
	ErrPoliciesChanged = errors.New("the policies in force are others than those that the change was made from")
)

// Policies is a version of a namespace's policies: see [Policies].
func (s *Service) Policies(ctx context.Context, namespace string, version int32) (PolicySet, error) {
	return s.backend.Policies(ctx, namespace, version)
}

// PolicyHistory is the versions of a namespace's policies: see [Policies].
func (s *Service) PolicyHistory(ctx context.Context, namespace string, before int32, limit int) ([]PolicySet, error) {
	return s.backend.PolicyHistory(ctx, namespace, before, limit)
}

// ApplyPolicies puts policies into force: see [Policies].
func (s *Service) ApplyPolicies(ctx context.Context, p PolicySet) (PolicySet, error) {
	return s.backend.ApplyPolicies(ctx, p)
}
