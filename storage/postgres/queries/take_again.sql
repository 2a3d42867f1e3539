-- What acquisitions have been granted.
SELECT w.id, {event}
FROM unnest($1::uuid[]) AS w(id), LATERAL (
    SELECT a.events FROM idemsvc.acquired a WHERE a.id = w.id OFFSET 0) a, LATERAL unnest(a.events) AS x(id), LATERAL (
    SELECT * FROM idemsvc.event e WHERE e.bucket = get_byte(uuid_send(x.id), 0) AND e.id = x.id OFFSET 0) e
