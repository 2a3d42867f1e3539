-- All consumers of one event: neighbours in the primary key.
SELECT {event}
FROM idemsvc.event e
WHERE e.bucket = $1 AND e.id BETWEEN $2 AND $3 AND e.namespace = $4 AND e.source = $5 AND e.event_id = $6
ORDER BY e.id LIMIT $7
