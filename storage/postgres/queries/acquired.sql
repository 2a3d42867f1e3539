-- What this very transaction has granted to acquisitions.
INSERT INTO idemsvc.acquired (id, at, events)
SELECT t.acquisition, clock_timestamp(), array_agg(t.event)
FROM unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::uuid[]) AS t(bucket, event, nonce, acquisition), LATERAL (
    SELECT 1 FROM idemsvc.event e WHERE e.bucket = t.bucket AND e.id = t.event AND e.nonce = t.nonce OFFSET 0) e
GROUP BY t.acquisition
