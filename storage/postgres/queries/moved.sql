-- After a move to another cluster the reader behind the journal starts here, and what it may
-- not have read is filled in.
WITH was AS MATERIALIZED (
    SELECT f.read_at FROM idemsvc.follower f
), cursor AS (
    UPDATE idemsvc.follower f SET snapshot = pg_current_snapshot(), read_at = clock_timestamp()
), open AS (
    INSERT INTO idemsvc.unfinished AS u (bucket, id, seq, state, since, due_at, namespace, consumer)
    SELECT e.bucket, e.id, e.version, e.state, COALESCE(e.ended_at, e.granted_at, e.created_at),
        CASE e.state WHEN 2 THEN e.lease_until WHEN 1 THEN COALESCE(e.due_at, clock_timestamp()) WHEN 4 THEN COALESCE(e.due_at, clock_timestamp()) END,
        e.namespace, e.consumer
    FROM idemsvc.event e WHERE e.state NOT IN (3, 7, 10)
    ORDER BY e.bucket, e.id
    ON CONFLICT (bucket, id) DO UPDATE SET seq = excluded.seq, state = excluded.state, due_at = excluded.due_at
)
INSERT INTO idemsvc.lookup (at, term, id)
SELECT DISTINCT j.at, t.term, j.id
FROM was, idemsvc.journal j, LATERAL unnest(j.terms::bigint[]) AS t(term)
WHERE j.terms IS NOT NULL AND j.at >= was.read_at - interval '1 hour'
