-- Side effects: the named ones, and those begun under the named events.
SELECT {effect}
FROM (
    SELECT w.id FROM unnest($1::uuid[]) AS w(id)
    UNION
    SELECT f.id FROM unnest($2::uuid[]) AS w(id), LATERAL (
        SELECT f.id FROM idemsvc.effect f WHERE f.event = w.id ORDER BY f.id LIMIT 300) f
    ) x, LATERAL (
    SELECT * FROM idemsvc.effect f WHERE f.bucket = get_byte(uuid_send(x.id), 0) AND f.id = x.id OFFSET 0) f
ORDER BY f.since, f.id
