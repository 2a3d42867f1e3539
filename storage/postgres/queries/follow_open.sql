-- What is not over enters the list of unfinished work, or is brought up to date in it. What
-- has an order is offered to workers by the statement that looks at its resource.
INSERT INTO idemsvc.unfinished AS u (bucket, id, seq, state, since, due_at, namespace, consumer, ready_at, acquire_at, blocked_until, lane, rank_epoch, rank_value, source, type)
SELECT e.bucket, e.id, t.seq, t.state, t.at, t.due_at, e.namespace, e.consumer, t.ready_at, CASE WHEN t.lane IS NULL THEN t.ready_at END,
    t.blocked_until, t.lane, t.rank_epoch, t.rank_value, e.source, t.type
FROM unnest($1::uuid[], $2::bigint[], $3::smallint[], $4::timestamptz[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[],
        $8::uuid[], $9::bigint[], $10::bigint[], $11::text[])
        AS t(id, seq, state, at, due_at, ready_at, blocked_until, lane, rank_epoch, rank_value, type), LATERAL (
    SELECT e.bucket, e.id, e.namespace, e.consumer, e.source FROM idemsvc.event e
    WHERE e.bucket = get_byte(uuid_send(t.id), 0)::smallint AND e.id = t.id OFFSET 0) e
WHERE current_setting('idemsvc.follow', true) = 'on'
ORDER BY e.bucket, e.id
ON CONFLICT (bucket, id) DO UPDATE SET
    seq = excluded.seq, state = excluded.state, due_at = excluded.due_at, taken_until = NULL,
    since = CASE WHEN u.state = excluded.state THEN u.since ELSE excluded.since END,
    ready_at = excluded.ready_at, blocked_until = excluded.blocked_until,
    acquire_at = CASE WHEN excluded.lane IS NULL OR excluded.ready_at IS NULL THEN excluded.ready_at ELSE u.acquire_at END,
    lane = excluded.lane, rank_epoch = excluded.rank_epoch, rank_value = excluded.rank_value,
    source = excluded.source, type = COALESCE(excluded.type, u.type)
WHERE u.seq < excluded.seq
