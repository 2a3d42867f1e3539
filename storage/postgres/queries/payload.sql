-- Payloads of events whose first claim or receipt has just been stored by this very
-- transaction; once per event ref and hash. What cannot be there yet is not looked through: the
-- partitions that are made ahead.
INSERT INTO idemsvc.payload (received_at, ref, hash, payload)
SELECT DISTINCT ON (t.ref, t.hash) clock_timestamp(), t.ref, t.hash, t.payload
FROM unnest($1::smallint[], $2::uuid[], $3::uuid[], $4::bytea[], $5::bytea[]) AS t(bucket, id, ref, hash, payload)
WHERE EXISTS (SELECT FROM idemsvc.event e WHERE e.bucket = t.bucket AND e.id = t.id AND e.version = 1 AND e.xmin = pg_current_xact_id()::xid)
  AND NOT EXISTS (SELECT FROM idemsvc.payload p WHERE p.ref = t.ref AND p.hash = t.hash AND p.received_at < statement_timestamp() + interval '1 day')
ORDER BY t.ref, t.hash
