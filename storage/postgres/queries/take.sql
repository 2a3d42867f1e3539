-- Events that are due, for each of some consumers the longest due first, at most so many
-- each. They are offered again after $5 microseconds: until then no other replica takes
-- them. That time stands in no index: what was taken is passed by until the reader behind the
-- journal takes it out, a quarter of a second later. A locked row is skipped. What is due since before «since» was looked at lately: a
-- scan over entries that are dead, but that a long transaction elsewhere keeps, is avoided.
WITH due AS MATERIALIZED (
    SELECT g.n, u.bucket, u.id, u.acquire_at
    FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::integer[]) WITH ORDINALITY AS g(namespace, consumer, since, most, n), LATERAL (
        SELECT u.bucket, u.id, u.acquire_at FROM idemsvc.unfinished u
        WHERE u.namespace = g.namespace AND u.consumer = g.consumer AND u.acquire_at >= g.since AND u.acquire_at <= statement_timestamp()
            AND (u.taken_until IS NULL OR u.taken_until <= statement_timestamp())
        ORDER BY u.acquire_at LIMIT g.most FOR UPDATE SKIP LOCKED) u
), found AS MATERIALIZED (
    SELECT due.n, due.bucket, due.acquire_at, {event}
    FROM due, LATERAL (
        SELECT * FROM idemsvc.event e WHERE e.bucket = due.bucket AND e.id = due.id OFFSET 0) e
), orphan AS (
    DELETE FROM idemsvc.unfinished u USING due d
    WHERE u.bucket = d.bucket AND u.id = d.id AND NOT EXISTS (SELECT FROM found f WHERE f.id = d.id)
), later AS (
    UPDATE idemsvc.unfinished u SET taken_until = clock_timestamp() + $5 * interval '1 microsecond'
    FROM found f WHERE u.bucket = f.bucket AND u.id = f.id
)
SELECT e.n, e.acquire_at, {event} FROM found e ORDER BY e.acquire_at
