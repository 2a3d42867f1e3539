-- The keys of events that other records name.
SELECT e.id, e.namespace, e.consumer, e.source, e.event_id
FROM unnest($1::uuid[]) AS w(id), LATERAL (
    SELECT * FROM idemsvc.event e WHERE e.bucket = get_byte(uuid_send(w.id), 0) AND e.id = w.id OFFSET 0) e
