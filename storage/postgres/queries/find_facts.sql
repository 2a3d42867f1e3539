-- What the first deliveries of events said: of each the oldest record's facts.
SELECT t.namespace, t.source, t.event_id, e.facts
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[]) AS t(low, high, namespace, source, event_id), LATERAL (
    SELECT e.facts FROM idemsvc.event e
    WHERE e.bucket = get_byte(uuid_send(t.low), 0)::smallint AND e.id BETWEEN t.low AND t.high
      AND e.namespace = t.namespace AND e.source = t.source AND e.event_id = t.event_id
    ORDER BY e.created_at LIMIT 1) e
