-- What is not over enters the list of unfinished work, or is brought up to date in it.
INSERT INTO idemsvc.unfinished AS u (bucket, id, seq, state, since, due_at, namespace, consumer)
SELECT e.bucket, e.id, t.seq, t.state, t.at, t.due_at, e.namespace, e.consumer
FROM unnest($1::uuid[], $2::bigint[], $3::smallint[], $4::timestamptz[], $5::timestamptz[]) AS t(id, seq, state, at, due_at), LATERAL (
    SELECT e.bucket, e.id, e.namespace, e.consumer FROM idemsvc.event e
    WHERE e.bucket = get_byte(uuid_send(t.id), 0)::smallint AND e.id = t.id OFFSET 0) e
WHERE current_setting('idemsvc.follow', true) = 'on'
ORDER BY e.bucket, e.id
ON CONFLICT (bucket, id) DO UPDATE SET
    seq = excluded.seq, state = excluded.state, due_at = excluded.due_at,
    since = CASE WHEN u.state = excluded.state THEN u.since ELSE excluded.since END
WHERE u.seq < excluded.seq
