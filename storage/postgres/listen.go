package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemsvc/idemsvc/storage"
)

// Listen implements [storage.Backend]: it listens for what the reader behind the journal
// says, on a connection of its own. Behind a transaction pooler nobody can listen: there it
// returns at once, and whoever waits asks from time to time.
func (s *Store) Listen(ctx context.Context, f func(about func(storage.Group) bool)) {
	if !s.tuned {
		return
	}
	wait := time.Second
	for ctx.Err() == nil {
		heard, err := s.listen(ctx, f)
		if ctx.Err() != nil {
			return
		}
		if heard {
			wait = time.Second
		}
		s.log.WarnContext(ctx, "not listening for what becomes due: it is noticed within a second meanwhile", "error", err)
		pause(ctx, wait)
		wait = min(2*wait, 30*time.Second)
	}
}

// listen reports whether it came so far that it could hear something.
func (s *Store) listen(ctx context.Context, f func(about func(storage.Group) bool)) (heard bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return false, outside(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN idemsvc_due"); err != nil {
		return false, outside(err)
	}
	f(func(storage.Group) bool { return true }) // for what came before it listened
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return true, outside(err)
		}
		told := n.Payload
		f(func(g storage.Group) bool { return told == "" || strings.Contains(told, told16(g)) })
	}
}

// told16 is a group's name as follow_notify.sql tells it.
func told16(g storage.Group) string {
	sum := sha256.Sum256([]byte(g.Namespace + "\x1f" + g.Consumer))
	return hex.EncodeToString(sum[:8])
}
