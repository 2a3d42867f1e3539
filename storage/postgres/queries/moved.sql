-- After a move to another cluster the reader behind the journal starts here, and the list
-- of unfinished work is made from the records. What can be granted is offered without its
-- order, which only the journal tells: it is checked at the grant. The type is told by the
-- journal, too: where the list does not have it, the event counts as one of a type that no
-- policy names.
WITH cursor AS (
    UPDATE idemsvc.follower f SET snapshot = pg_current_snapshot(), read_at = clock_timestamp()
)
INSERT INTO idemsvc.unfinished AS u (bucket, id, seq, state, since, due_at, namespace, consumer, ready_at, acquire_at, source)
SELECT e.bucket, e.id, e.version, e.state, COALESCE(e.ended_at, e.granted_at, e.created_at),
    CASE e.state WHEN 2 THEN e.lease_until WHEN 1 THEN COALESCE(e.due_at, clock_timestamp()) WHEN 4 THEN COALESCE(e.due_at, clock_timestamp()) END,
    e.namespace, e.consumer, r.at, r.at, e.source
FROM idemsvc.event e, LATERAL (SELECT CASE WHEN e.state IN (1, 4) THEN COALESCE(e.due_at, clock_timestamp()) END AS at) r
WHERE e.state NOT IN (3, 7, 10)
ORDER BY e.bucket, e.id
ON CONFLICT (bucket, id) DO UPDATE SET seq = excluded.seq, state = excluded.state, due_at = excluded.due_at, ready_at = excluded.ready_at, acquire_at = excluded.acquire_at,
    taken_until = NULL, source = excluded.source
