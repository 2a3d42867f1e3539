-- Settled side effects of the wider scopes in a stretch of the table.
SELECT f.id, f.namespace, f.scope, f.consumer, f.key, f.version, f.state, f.since FROM idemsvc.effect f
WHERE f.ctid >= $1::text::tid AND f.ctid < $2::text::tid AND f.scope IN (2, 3) AND f.state IN (2, 3)
  AND f.since < clock_timestamp() - $3::bigint * interval '1 microsecond'
