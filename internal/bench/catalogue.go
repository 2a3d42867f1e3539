package bench

import (
	"context"
	"time"
)

// The parts of a comparison beside the arms.
const (
	partHeld    = "held"
	partLatency = "latency"
)

var parts = []string{partHeld, partLatency}

// recordsBehind is how long records of duplicate deliveries may be written after their
// answers.
const recordsBehind = 700 * time.Millisecond

// catalogue lists all arms. Those that are compared are in one group, so that little time
// passes between them.
func (s *site) catalogue() []*arm {
	var list []*arm
	group := 0
	add := func(a arm) *arm {
		a.group = group
		list = append(list, &a)
		return &a
	}
	direct := func(callers int) *arm {
		return add(arm{family: "direct", callers: callers, what: "one-row SQL through pgx: insert, then update", step: func(ctx context.Context, _ int) (int, error) {
			return directEvent(ctx, s.pool(callers))
		}})
	}
	echo := func(family, what string, callers int, base *arm, step func(context.Context, *service, int) (int, error)) {
		add(arm{family: family, callers: callers, base: base, way: overEcho, what: what, step: func(ctx context.Context, i int) (int, error) {
			return step(ctx, s.echo, i)
		}})
	}
	served := func(a arm, step func(context.Context, *service, int) (int, error)) *arm {
		a.way = overServer
		a.step = func(ctx context.Context, i int) (int, error) { return step(ctx, s.service, i) }
		return add(a)
	}
	const unaryEcho, sessionEcho, batchEcho = "grpc-go alone: unary without a database", "grpc-go alone: a stream without a database", "grpc-go alone: batches without a database"

	base := direct(1)
	served(arm{family: "unary", callers: 1, base: base, goal: 0.5, what: "ClaimEvent and CompleteEvent"}, unaryEvent)
	echo("echo", unaryEcho, 1, base, unaryEvent)

	group++
	base = direct(16)
	batch := served(arm{family: "batch", callers: 16, base: base, goal: 7, what: "ClaimEvents and CompleteEvents of 100"}, batchEvent)
	served(arm{family: "ordered-batch", callers: 16, base: batch, goal: 0.35, what: "batch with a version and a lane each"}, orderedBatchEvent)
	echo("echo-batch", batchEcho, 16, base, batchEvent)

	group++
	base = direct(64)
	unary := served(arm{family: "unary", callers: 64, base: base, goal: 1.3, what: "ClaimEvent and CompleteEvent"}, unaryEvent)
	served(arm{family: "session", callers: 64, base: base, goal: 2.5, what: "ClaimEvent and CompleteEvent over a stream"}, sessionEvent)
	served(arm{family: "ordered", callers: 64, base: unary, goal: 0.6, what: "unary with a version and a lane"}, orderedEvent)
	served(arm{family: "effect", callers: 64, base: unary, goal: 0.5, what: "unary with begin and done of a side effect"}, effectEvent)
	served(arm{family: "retained", callers: 64, base: unary, goal: 0.9, beside: besideRetention, what: "unary while events past their retention are removed"}, unaryEvent)
	if s.River == "" {
		s.inboxArms(add, unary)
	}
	echo("echo", unaryEcho, 64, base, unaryEvent)
	echo("echo-session", sessionEcho, 64, base, sessionEvent)

	if s.River != "" {
		group++
		s.inboxArms(add, nil)
	}

	group++
	base = direct(256)
	served(arm{family: "unary", callers: 256, base: base, goal: 1.8, goalPostgres: 0.2, what: "ClaimEvent and CompleteEvent"}, unaryEvent)
	served(arm{family: "session", callers: 256, base: base, goal: 4, what: "ClaimEvent and CompleteEvent over a stream"}, sessionEvent)
	echo("echo", unaryEcho, 256, base, unaryEvent)
	echo("echo-session", sessionEcho, 256, base, sessionEvent)

	duplicate := func(callers int) *arm {
		group++
		return add(arm{family: "direct-duplicates", callers: callers, what: "the insert that finds a row, and a select of its result", step: func(ctx context.Context, _ int) (int, error) {
			return directDuplicate(ctx, s.pool(callers), s.anyFinished())
		}})
	}
	served(arm{family: "duplicates", callers: 64, base: duplicate(64), goal: 1.2, behind: recordsBehind, what: "ClaimEvent that answers the stored result"},
		func(ctx context.Context, v *service, i int) (int, error) {
			return unaryDuplicate(ctx, v, i, s.anyFinished())
		})
	served(arm{family: "session-duplicates", callers: 256, base: duplicate(256), goal: 4, behind: recordsBehind, what: "the same over a stream"},
		func(ctx context.Context, v *service, i int) (int, error) {
			return sessionDuplicate(ctx, v, i, s.anyFinished())
		})

	group++
	business := add(arm{family: "business", callers: 64, what: "a consumer's own transaction: an invoice and a balance", step: func(ctx context.Context, _ int) (int, error) {
		return businessEvent(ctx, s.pool(64))
	}})
	add(arm{family: "marker", callers: 64, base: business, what: "business with a marker inserted in the same transaction", step: func(ctx context.Context, _ int) (int, error) {
		return markedEvent(ctx, s.pool(64))
	}})
	served(arm{family: "guarded", callers: 64, base: business, what: "business between ClaimEvent and CompleteEvent"},
		func(ctx context.Context, v *service, i int) (int, error) { return guardedEvent(ctx, v, i, s.pool(64)) })
	return list
}
