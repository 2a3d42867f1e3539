-- Resources at rest in a stretch of the table.
SELECT r.id, r.namespace, r.consumer, r.type, r.name, r.version, r.changed_at FROM idemsvc.resource r
WHERE r.ctid >= $1::text::tid AND r.ctid < $2::text::tid AND NOT r.owned AND r.gap_since IS NULL
  AND r.changed_at < clock_timestamp() - $3::bigint * interval '1 microsecond'
