-- Resources: the named ones, those that the named events have reserved, and those that
-- the owners of any of these have reserved.
WITH own AS (
    SELECT w.id AS resource FROM unnest($1::uuid[]) AS w(id)
    UNION
    SELECT l.id FROM unnest($2::smallint[], $3::uuid[]) AS w(bucket, id), LATERAL (
        SELECT e.lanes FROM idemsvc.event e WHERE e.bucket = w.bucket AND e.id = w.id AND e.lanes IS NOT NULL OFFSET 0) e,
        LATERAL unnest(string_to_array(e.lanes, ',')::uuid[]) AS l(id)
), owners AS (
    SELECT DISTINCT r.owner FROM own x, LATERAL (
        SELECT r.owner FROM idemsvc.resource r
        WHERE r.bucket = get_byte(uuid_send(x.resource), 0) AND r.id = x.resource AND r.owned OFFSET 0) r
), everyone AS (
    SELECT resource FROM own
    UNION
    SELECT l.id FROM owners o, LATERAL (
        SELECT e.lanes FROM idemsvc.event e
        WHERE e.bucket = get_byte(uuid_send(o.owner), 0) AND e.id = o.owner AND e.lanes IS NOT NULL OFFSET 0) e,
        LATERAL unnest(string_to_array(e.lanes, ',')::uuid[]) AS l(id)
)
SELECT {resource}
FROM everyone x, LATERAL (
    SELECT * FROM idemsvc.resource r WHERE r.bucket = get_byte(uuid_send(x.resource), 0) AND r.id = x.resource OFFSET 0) r
