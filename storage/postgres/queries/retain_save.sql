-- How far it has come, and what was removed.
UPDATE idemsvc.retention r SET
    place = $2, block = $3, passed_at = CASE WHEN $4 THEN clock_timestamp() ELSE r.passed_at END,
    events = r.events + $5, effects = r.effects + $6, resources = r.resources + $7, payloads = r.payloads + $8, partitions = r.partitions + $9
WHERE r.holder = $1
