-- Removes side effects of the wider scopes, where no event is stored under which they were
-- begun. Tested here, as for events.
WITH due AS MATERIALIZED (
    SELECT t.id, f.ctid AS place
    FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS t(id, version, keep), LATERAL (
        SELECT f.ctid FROM idemsvc.effect f
        WHERE f.bucket = get_byte(uuid_send(t.id), 0)::smallint AND f.id = t.id AND f.version = t.version AND f.scope IN (2, 3) AND f.state IN (2, 3)
          AND f.since < clock_timestamp() - t.keep * interval '1 microsecond'
        OFFSET 0 FOR UPDATE SKIP LOCKED) f
), gone AS (
    DELETE FROM idemsvc.effect f USING due d
    WHERE f.ctid = d.place AND f.id = d.id AND NOT EXISTS (
        SELECT FROM idemsvc.event e WHERE e.bucket = get_byte(uuid_send(f.event), 0)::smallint AND e.id = f.event)
    RETURNING f.id
), told AS (
    INSERT INTO idemsvc.journal (at, xid, epoch, heads, body, hash)
    SELECT x.at, x.xid, x.epoch, x.heads, $4,
        sha256(timestamptz_send(x.at) || int8send(x.xid) || int8send(x.epoch) || int4send(length(x.heads)) || x.heads || $4)
    FROM (SELECT string_agg(uuid_send(g.id) || int8send(0), '') AS heads, clock_timestamp() AS at FROM gone g) h, LATERAL (
        SELECT h.heads, h.at, m.epoch, pg_current_xact_id()::text::bigint + m.xid_base AS xid FROM idemsvc.meta m WHERE h.heads IS NOT NULL) x
)
SELECT count(*) FROM gone
