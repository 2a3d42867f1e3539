-- Events (and effects begun without one) by the hash of a value. The value itself is
-- compared by the caller.
SELECT {event}
FROM (SELECT DISTINCT l.id FROM (SELECT l.id FROM idemsvc.lookup l WHERE l.term = $1 ORDER BY l.id LIMIT $2) l) l, LATERAL (
    SELECT * FROM idemsvc.event e WHERE e.bucket = get_byte(uuid_send(l.id), 0) AND e.id = l.id OFFSET 0) e
ORDER BY e.created_at DESC, e.id
