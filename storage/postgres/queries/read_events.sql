-- Event records by ID. With nonces, only those whose last grant is another one: the
-- winners of keys that a first claim has just lost.
SELECT {event}
FROM unnest($1::smallint[], $2::uuid[], $3::uuid[]) AS w(bucket, id, nonce), LATERAL (
    SELECT * FROM idemsvc.event e WHERE e.bucket = w.bucket AND e.id = w.id OFFSET 0) e
WHERE w.nonce IS NULL OR e.nonce IS DISTINCT FROM w.nonce
