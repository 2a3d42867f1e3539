-- The signals about each of these resources that seem to be pending: those that arrived first,
-- at most $2 of each. The list may be late, which delays the end of a signal and loses none.
SELECT {event}
FROM unnest($1::uuid[]) AS l(lane), LATERAL (
    SELECT u.bucket, u.id FROM idemsvc.unfinished u
    WHERE u.lane = l.lane AND u.ready_at IS NOT NULL ORDER BY u.rank_epoch DESC, u.rank_value DESC, u.id DESC LIMIT $2::bigint) u, LATERAL (
    SELECT * FROM idemsvc.event e WHERE e.bucket = u.bucket AND e.id = u.id OFFSET 0) e
WHERE e.state IN (1, 4)
