package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemsvc/idemsvc/idem"
)

type sourceKey struct{ namespace, source string }

// sources knows of which sources a verified delivery has been seen. A positive answer is
// for ever; a negative one may be as old as a step of the background work, about a
// second, when another replica saw the first verified delivery.
type sources struct {
	mu   sync.RWMutex
	seen map[sourceKey]bool
}

func (s *sources) load(ctx context.Context, pool *pgxpool.Pool) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	rows, err := pool.Query(ctx, "SELECT namespace, source FROM idemsvc.source")
	if err != nil {
		return err
	}
	defer rows.Close()
	seen := map[sourceKey]bool{}
	for rows.Next() {
		var k sourceKey
		if err := rows.Scan(&k.namespace, &k.source); err != nil {
			return err
		}
		seen[k] = true
	}
	if err := rows.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.seen {
		seen[k] = true
	}
	s.seen = seen
	return nil
}

func (s *sources) verified(k idem.EventKey) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.seen[sourceKey{k.Namespace, k.Source}]
}

func (s *sources) add(ks []sourceKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range ks {
		s.seen[k] = true
	}
}
