-- The events that own the lanes of resources: of the named ones, and of those that the
-- named events have reserved.
SELECT {event}
FROM (
    SELECT DISTINCT r.owner FROM (
        SELECT w.id FROM unnest($1::uuid[]) AS w(id)
        UNION
        SELECT l.id FROM unnest($2::smallint[], $3::uuid[]) AS w(bucket, id), LATERAL (
            SELECT e.lanes FROM idemsvc.event e WHERE e.bucket = w.bucket AND e.id = w.id AND e.lanes IS NOT NULL OFFSET 0) e,
            LATERAL unnest(string_to_array(e.lanes, ',')::uuid[]) AS l(id)) x, LATERAL (
        SELECT r.owner FROM idemsvc.resource r
        WHERE r.bucket = get_byte(uuid_send(x.id), 0) AND r.id = x.id AND r.owned OFFSET 0) r
    ) o, LATERAL (
    SELECT * FROM idemsvc.event e WHERE e.bucket = get_byte(uuid_send(o.owner), 0) AND e.id = o.owner OFFSET 0) e
