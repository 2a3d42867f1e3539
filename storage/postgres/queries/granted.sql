-- Deliveries that this very transaction has granted.
INSERT INTO idemsvc.delivery (recorded_at, event, identity, detail)
SELECT clock_timestamp(), t.event, t.identity, t.detail
FROM unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::uuid[], $5::bytea[]) AS t(bucket, event, nonce, identity, detail), LATERAL (
    SELECT 1 FROM idemsvc.event e WHERE e.bucket = t.bucket AND e.id = t.event AND e.nonce = t.nonce OFFSET 0) e
WHERE NOT EXISTS (SELECT FROM idemsvc.delivery d WHERE d.event = t.event AND d.identity = t.identity)
ON CONFLICT DO NOTHING
