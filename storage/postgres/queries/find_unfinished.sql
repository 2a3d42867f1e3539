-- Unfinished work, the oldest first, of each state asked for ($1). Claims whose lease is
-- over are whatever that makes of them: they come along ($2), and the caller looks at the
-- settled record.
SELECT {event}
FROM (
    SELECT u.bucket, u.id, u.since FROM unnest($1::smallint[]) AS s(state), LATERAL (
        SELECT u.bucket, u.id, u.since FROM idemsvc.unfinished u
        WHERE u.state = s.state {filter} ORDER BY u.since, u.id LIMIT $3) u
    UNION
    SELECT u.bucket, u.id, u.since FROM (
        SELECT u.bucket, u.id, u.since FROM idemsvc.unfinished u
        WHERE $2 AND u.due_at <= statement_timestamp() {filter} ORDER BY u.due_at LIMIT $3) u
    ORDER BY since, id LIMIT $3) u, LATERAL (
    SELECT * FROM idemsvc.event e WHERE e.bucket = u.bucket AND e.id = u.id OFFSET 0) e
ORDER BY u.since, e.id
