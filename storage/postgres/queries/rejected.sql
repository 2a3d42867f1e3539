-- Deliveries whose signature failed: counted for each source and minute. What comes back
-- is how many had been counted before, so that only the first few are kept.
INSERT INTO idemsvc.rejected AS r (namespace, source, minute, total)
SELECT t.namespace, t.source, date_trunc('minute', clock_timestamp()), t.n
FROM unnest($1::text[], $2::text[], $3::bigint[]) AS t(namespace, source, n)
ORDER BY t.namespace, t.source
ON CONFLICT (namespace, source, minute) DO UPDATE SET total = r.total + excluded.total
RETURNING r.namespace, r.source, r.total
