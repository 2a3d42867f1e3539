-- The next events of resources whose lane has just become free, in the order in which they
-- are to be tried. Nobody else is kept from them: the grant decides.
SELECT {event}
FROM unnest($1::uuid[]) AS l(lane), LATERAL (
    SELECT u.bucket, u.id, u.ready_at, u.rank_epoch, u.rank_value FROM idemsvc.unfinished u
    WHERE u.lane = l.lane AND u.ready_at IS NOT NULL ORDER BY u.rank_epoch, u.rank_value, u.id LIMIT 32) u, LATERAL (
    SELECT * FROM idemsvc.event e WHERE e.bucket = u.bucket AND e.id = u.id OFFSET 0) e
WHERE u.ready_at <= statement_timestamp() AND e.state IN (1, 4)
ORDER BY l.lane, u.rank_epoch, u.rank_value, e.id
