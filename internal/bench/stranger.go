package bench

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// heldArms are measured once more beside a long transaction.
var heldArms = []string{"unary64", "batch16"}

// besideStranger measures while somebody else's writing transaction stays open: no dead
// row is removed, and the horizon of snapshots stands still.
func (s *site) besideStranger(ctx context.Context, c *Comparison) (err error) {
	at, err := pgx.ParseConfig(s.db.url)
	if err != nil {
		return err
	}
	stranger, err := pgx.ConnectConfig(ctx, at)
	if err != nil {
		return err
	}
	defer func() { _ = stranger.Close(context.WithoutCancel(ctx)) }() // with its transaction
	tx, err := stranger.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "INSERT INTO idemsvc_bench.stranger VALUES (1)"); err != nil {
		return err
	}
	opened := time.Now()
	s.say("somebody else's transaction is open from here on")
	if s.wants(partHeld) {
		arms := choose(s.catalogue(), heldArms)
		missing := slices.DeleteFunc([]int{16, 64}, func(n int) bool { return s.best[n] != 0 })
		if err := s.calibrate(ctx, missing, s.Duration); err != nil {
			return err
		}
		runs, err := s.rounds(ctx, arms)
		if err != nil {
			return err
		}
		c.Held = s.rows(arms, runs, func(*arm) float64 { return -1 })
	}
	if s.wants(partLatency) {
		if c.Latency, err = s.latency(ctx); err != nil {
			return err
		}
	}
	c.HeldFor = time.Since(opened)
	return nil
}
