-- Event records by ID.
SELECT {event}
FROM unnest($1::smallint[], $2::uuid[]) AS w(bucket, id), LATERAL (
    SELECT * FROM idemsvc.event e WHERE e.bucket = w.bucket AND e.id = w.id OFFSET 0) e
