-- Finished events in a stretch of the table: read in the order in which they lie, so that
-- nothing need be indexed. Only what a policy may have forgotten by now ($3, microseconds).
SELECT e.id, e.namespace, e.consumer, e.source, e.event_id, e.facts, e.version, e.fence, e.created_at, e.granted_at, e.ended_at, e.state, e.detail
FROM idemsvc.event e
WHERE e.ctid >= $1::text::tid AND e.ctid < $2::text::tid AND e.state IN (3, 5, 6, 7, 10)
  AND greatest(e.created_at, e.granted_at, e.ended_at) < clock_timestamp() - $3::bigint * interval '1 microsecond'
