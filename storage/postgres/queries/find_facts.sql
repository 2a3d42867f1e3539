-- What the first delivery of an event said: its oldest record's facts.
SELECT e.facts
FROM idemsvc.event e
WHERE e.bucket = $1 AND e.id BETWEEN $2 AND $3 AND e.namespace = $4 AND e.source = $5 AND e.event_id = $6
ORDER BY e.created_at LIMIT 1
