package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
	"github.com/idemsvc/idemsvc/storage"
)

// policyPause is how often a replica looks whether a policy has changed: one row is read,
// so that all replicas go by a change within a second.
const policyPause = 400 * time.Millisecond

// rulebook is the policies in force, as this replica knows them.
type rulebook struct {
	mu         sync.Mutex // one reader at a time
	generation int64
	book       atomic.Pointer[idem.Rulebook]
}

func (b *rulebook) policy(key idem.EventKey, eventType string) *idem.Policy {
	return b.book.Load().Policy(key, eventType)
}

// look reads the policies when they have changed.
func (b *rulebook) look(ctx context.Context, pool *pgxpool.Pool) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	b.mu.Lock()
	defer b.mu.Unlock()
	var generation int64
	if err := pool.QueryRow(ctx, sqlPolicyHead).Scan(&generation); err != nil {
		return err
	}
	if b.book.Load() != nil && generation == b.generation { // it may also have gone back, with the database
		return nil
	}
	rows, err := pool.Query(ctx, sqlPolicies)
	if err != nil {
		return err
	}
	book := idem.NewRulebook()
	var namespace *string
	var version *int32
	var rules []byte
	_, err = pgx.ForEachRow(rows, []any{&generation, &namespace, &version, &rules}, func() error {
		if namespace == nil {
			return nil
		}
		list, err := decodeRules(rules)
		if err != nil {
			return fmt.Errorf("the policies of namespace %s, version %d: %w", *namespace, *version, err)
		}
		book = book.With(*namespace, *version, list)
		return nil
	})
	if err != nil {
		return err
	}
	b.generation = generation
	b.book.Store(book)
	return nil
}

// decodeRules reads stored rules. What a newer version of this program has added to them
// is left alone.
func decodeRules(b []byte) ([]idem.Rule, error) {
	var rules []idem.Rule
	err := json.Unmarshal(b, &rules)
	return rules, err
}

// Policies implements [storage.Policies].
func (s *Store) Policies(ctx context.Context, namespace string, version int32) (storage.PolicySet, error) {
	p := storage.PolicySet{Namespace: namespace}
	var at time.Time
	var rules []byte
	err := s.pool.QueryRow(ctx, sqlPolicyRead, namespace, version).Scan(&p.Version, &at, &p.AppliedBy, &p.Why, &rules)
	switch {
	case errors.Is(err, pgx.ErrNoRows) && version == 0:
		return p, nil
	case errors.Is(err, pgx.ErrNoRows):
		return p, storage.ErrNoPolicies
	case err != nil:
		return p, outside(err)
	}
	p.AppliedAt = idem.InstantOf(at)
	p.Rules, err = decodeRules(rules)
	return p, err
}

// PolicyHistory implements [storage.Policies].
func (s *Store) PolicyHistory(ctx context.Context, namespace string, before int32, limit int) ([]storage.PolicySet, error) {
	rows, err := s.pool.Query(ctx, sqlPolicyHistory, namespace, before, limit)
	if err != nil {
		return nil, outside(err)
	}
	var out []storage.PolicySet
	var at time.Time
	p := storage.PolicySet{Namespace: namespace}
	_, err = pgx.ForEachRow(rows, []any{&p.Version, &at, &p.AppliedBy, &p.Why}, func() error {
		p.AppliedAt = idem.InstantOf(at)
		out = append(out, p)
		return nil
	})
	return out, outside(err)
}

// ApplyPolicies implements [storage.Policies]. A store that has a policy function of its
// own keeps what is applied and goes by its function.
func (s *Store) ApplyPolicies(ctx context.Context, p storage.PolicySet) (storage.PolicySet, error) {
	rules, err := json.Marshal(append([]idem.Rule{}, p.Rules...))
	if err != nil {
		return p, err
	}
	var at time.Time
	err = s.pool.QueryRow(ctx, sqlPolicyApply, p.Namespace, p.Version, p.AppliedBy, p.Why, rules).Scan(&p.Version, &at)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, storage.ErrPoliciesChanged
	}
	if err != nil {
		return p, outside(err)
	}
	p.AppliedAt = idem.InstantOf(at)
	if err := s.book.look(ctx, s.pool); err != nil {
		s.log.WarnContext(ctx, "policies were applied and are not in force here yet", "namespace", p.Namespace, "version", p.Version, "error", err)
	}
	return p, nil
}
