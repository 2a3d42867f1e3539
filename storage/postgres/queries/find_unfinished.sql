-- Unfinished work, the oldest first. Claims whose lease is over are whatever that makes of
-- them: the caller looks at the settled record.
SELECT {event}
FROM (SELECT u.bucket, u.id, u.since FROM idemsvc.unfinished u
      WHERE ($1 = '' OR u.namespace = $1) AND ($2 = '' OR u.consumer = $2)
        AND (cardinality($3::smallint[]) = 0 OR u.state = ANY ($3) OR (u.state = 2 AND u.due_at <= clock_timestamp()))
        AND (NOT $4 OR u.due_at <= clock_timestamp())
      ORDER BY u.since, u.id LIMIT $5) u, LATERAL (
    SELECT * FROM idemsvc.event e WHERE e.bucket = u.bucket AND e.id = u.id OFFSET 0) e
ORDER BY u.since, e.id
