-- Removes events that were found past their retention, with their attempts and their own
-- side effects. Whether one may go is tested here, by the statement that removes it: it is
-- as it was read, finished, its time ($3, microseconds) is over, no side effect of it is open
-- and it owns no lane. A row that somebody has locked is left for the next time.
WITH due AS MATERIALIZED (
    SELECT t.id, e.ctid AS place
    FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS t(id, version, keep), LATERAL (
        SELECT e.ctid FROM idemsvc.event e
        WHERE e.bucket = get_byte(uuid_send(t.id), 0)::smallint AND e.id = t.id AND e.version = t.version AND e.state IN (3, 5, 6, 7, 10)
          AND greatest(e.created_at, e.granted_at, e.ended_at) < clock_timestamp() - t.keep * interval '1 microsecond'
        OFFSET 0 FOR UPDATE SKIP LOCKED) e
), gone AS (
    DELETE FROM idemsvc.event e USING due d
    WHERE e.ctid = d.place AND e.id = d.id
      AND NOT EXISTS (SELECT FROM idemsvc.effect f WHERE f.event = d.id AND f.state IN (1, 4))
      AND NOT EXISTS (
        SELECT FROM unnest(string_to_array(e.lanes, ',')::uuid[]) AS l(id), LATERAL (
            SELECT 1 FROM idemsvc.resource r
            WHERE r.bucket = get_byte(uuid_send(l.id), 0)::smallint AND r.id = l.id AND r.owned AND r.owner = e.id OFFSET 0) r)
    RETURNING e.bucket, e.id, e.fence
), attempts AS (
    DELETE FROM idemsvc.attempt a USING gone g WHERE a.bucket = g.bucket AND a.event = g.id
), effects AS (
    DELETE FROM idemsvc.effect f USING gone g WHERE f.event = g.id AND f.scope = 1
), listed AS (
    DELETE FROM idemsvc.unfinished u USING gone g WHERE u.bucket = g.bucket AND u.id = g.id
), told AS (
    INSERT INTO idemsvc.journal (at, xid, epoch, heads, body, hash)
    SELECT x.at, x.xid, x.epoch, x.heads, $4,
        sha256(timestamptz_send(x.at) || int8send(x.xid) || int8send(x.epoch) || int4send(length(x.heads)) || x.heads || $4)
    FROM (SELECT string_agg(uuid_send(g.id) || int8send(g.fence), '') AS heads, clock_timestamp() AS at FROM gone g) h, LATERAL (
        SELECT h.heads, h.at, m.epoch, pg_current_xact_id()::text::bigint + m.xid_base AS xid FROM idemsvc.meta m WHERE h.heads IS NOT NULL) x
)
SELECT count(*) FROM gone
