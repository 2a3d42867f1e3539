-- Removes resources to which no stored event refers any more: none that applied or owned it,
-- none that carries a version of it, none that is found by its name ($5). Tested here, as for
-- events. Their recorded versions go with them.
WITH due AS MATERIALIZED (
    SELECT t.id, t.term, r.ctid AS place
    FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $5::bigint[]) AS t(id, version, keep, term), LATERAL (
        SELECT r.ctid FROM idemsvc.resource r
        WHERE r.bucket = get_byte(uuid_send(t.id), 0)::smallint AND r.id = t.id AND r.version = t.version AND NOT r.owned AND r.gap_since IS NULL
          AND r.changed_at < clock_timestamp() - t.keep * interval '1 microsecond'
        OFFSET 0 FOR UPDATE SKIP LOCKED) r
), gone AS (
    DELETE FROM idemsvc.resource r USING due d
    WHERE r.ctid = d.place AND r.id = d.id
      AND NOT EXISTS (
        SELECT FROM unnest(ARRAY[r.applied_by, r.owner]) AS x(id), LATERAL (
            SELECT 1 FROM idemsvc.event e WHERE e.bucket = get_byte(uuid_send(x.id), 0)::smallint AND e.id = x.id OFFSET 0) e)
      AND NOT EXISTS (
        SELECT FROM (SELECT m.event_bucket, m.event FROM idemsvc.member m WHERE m.bucket = r.bucket AND m.resource = r.id OFFSET 0) m, LATERAL (
            SELECT 1 FROM idemsvc.event e WHERE e.bucket = m.event_bucket AND e.id = m.event OFFSET 0) e)
      AND NOT EXISTS (
        SELECT FROM (SELECT l.id FROM idemsvc.lookup l WHERE l.term = d.term OFFSET 0) l, LATERAL (
            SELECT 1 FROM idemsvc.event e WHERE e.bucket = get_byte(uuid_send(l.id), 0)::smallint AND e.id = l.id OFFSET 0) e)
    RETURNING r.bucket, r.id
), versions AS (
    DELETE FROM idemsvc.member m USING gone g WHERE m.bucket = g.bucket AND m.resource = g.id
), told AS (
    INSERT INTO idemsvc.journal (at, xid, epoch, heads, body, hash)
    SELECT x.at, x.xid, x.epoch, x.heads, $4,
        sha256(timestamptz_send(x.at) || int8send(x.xid) || int8send(x.epoch) || int4send(length(x.heads)) || x.heads || $4)
    FROM (SELECT string_agg(uuid_send(g.id) || int8send(0), '') AS heads, clock_timestamp() AS at FROM gone g) h, LATERAL (
        SELECT h.heads, h.at, m.epoch, pg_current_xact_id()::text::bigint + m.xid_base AS xid FROM idemsvc.meta m WHERE h.heads IS NOT NULL) x
)
SELECT count(*) FROM gone
