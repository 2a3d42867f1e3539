package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/idemsvc/idemsvc/storage"
)

// Policies implements [storage.Policies].
func (s *Store) Policies(ctx context.Context, namespace string, version int32) (storage.PolicySet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.policies[namespace]
	switch {
	case ctx.Err() != nil:
		return storage.PolicySet{}, ctx.Err()
	case version == 0 && len(all) == 0:
		return storage.PolicySet{Namespace: namespace}, nil
	case version == 0:
		version = int32(len(all)) //nolint:gosec // far fewer
	case version < 0 || int(version) > len(all):
		return storage.PolicySet{}, storage.ErrNoPolicies
	}
	return clonePolicies(all[version-1]), nil
}

// PolicyHistory implements [storage.Policies].
func (s *Store) PolicyHistory(ctx context.Context, namespace string, before int32, limit int) ([]storage.PolicySet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []storage.PolicySet
	for _, p := range slices.Backward(s.policies[namespace]) {
		if (before == 0 || p.Version < before) && len(out) < limit {
			p.Rules = nil
			out = append(out, p)
		}
	}
	return out, ctx.Err()
}

// ApplyPolicies implements [storage.Policies]. A store that has a policy function of its
// own keeps what is applied and goes by its function.
func (s *Store) ApplyPolicies(ctx context.Context, p storage.PolicySet) (storage.PolicySet, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return storage.PolicySet{}, err
	}
	all := s.policies[p.Namespace]
	if int(p.Version) != len(all) {
		return storage.PolicySet{}, storage.ErrPoliciesChanged
	}
	p = clonePolicies(p)
	p.Version++
	p.AppliedAt = s.clock()
	s.policies[p.Namespace] = append(all, p)
	s.book.Store(s.book.Load().With(p.Namespace, p.Version, clonePolicies(p).Rules))
	return clonePolicies(p), nil
}

func clonePolicies(p storage.PolicySet) storage.PolicySet {
	p.Rules = slices.Clone(p.Rules)
	for i := range p.Rules {
		p.Rules[i].Set = maps.Clone(p.Rules[i].Set)
	}
	return p
}

var _ storage.Policies = (*Store)(nil)
