-- One step of the reader behind the journal, by whoever got the lock. The cursor is a
-- snapshot: what is visible now and was not then is new (newer than all that had begun, or
-- one of those that were running), so that neither commit order nor a long transaction
-- elsewhere hides or delays a row.
WITH cur AS MATERIALIZED (
    SELECT f.snapshot, m.xid_base FROM idemsvc.follower f, idemsvc.meta m WHERE current_setting('idemsvc.follow', true) = 'on'
), fresh AS MATERIALIZED (
    SELECT j.at, j.id, j.seq, j.subject, j.kind, j.state, j.due_at, j.terms
    FROM (SELECT cur.xid_base + pg_snapshot_xmax(cur.snapshot)::text::bigint AS low FROM cur) c, LATERAL (
        SELECT * FROM idemsvc.journal j WHERE j.xid >= c.low OFFSET 0) j
    UNION ALL
    SELECT j.at, j.id, j.seq, j.subject, j.kind, j.state, j.due_at, j.terms
    FROM (SELECT cur.xid_base + x::text::bigint AS xid FROM cur, pg_snapshot_xip(cur.snapshot) x) c, LATERAL (
        SELECT * FROM idemsvc.journal j WHERE j.xid = c.xid OFFSET 0) j
), found AS (
    INSERT INTO idemsvc.lookup (at, term, id)
    SELECT DISTINCT f.at, t.term, f.id FROM fresh f, LATERAL unnest(f.terms::bigint[]) AS t(term)
    WHERE f.terms IS NOT NULL
), last AS MATERIALIZED (
    -- What is over for good: processed, ignored, or closed by an operator (kind 16). A late
    -- report (kind 12) changes nothing.
    SELECT DISTINCT ON (f.id) f.id, f.seq, f.state, f.due_at, f.at, f.state IN (3, 7, 10) OR (f.kind = 16 AND f.state = 5) AS over
    FROM fresh f WHERE f.subject = 1 AND f.kind <> 12 ORDER BY f.id, f.seq DESC
), gone AS (
    DELETE FROM idemsvc.unfinished u USING last l
    WHERE u.bucket = get_byte(uuid_send(l.id), 0) AND u.id = l.id AND l.over AND u.seq < l.seq
), open AS (
    INSERT INTO idemsvc.unfinished AS u (bucket, id, seq, state, since, due_at, namespace, consumer)
    SELECT e.bucket, e.id, l.seq, l.state, l.at, l.due_at, e.namespace, e.consumer
    FROM last l, LATERAL (
        SELECT e.bucket, e.id, e.namespace, e.consumer FROM idemsvc.event e
        WHERE e.bucket = get_byte(uuid_send(l.id), 0) AND e.id = l.id OFFSET 0) e
    WHERE NOT l.over
    ORDER BY e.bucket, e.id
    ON CONFLICT (bucket, id) DO UPDATE SET
        seq = excluded.seq, state = excluded.state, due_at = excluded.due_at,
        since = CASE WHEN u.state = excluded.state THEN u.since ELSE excluded.since END
    WHERE u.seq < excluded.seq
)
UPDATE idemsvc.follower f SET snapshot = pg_current_snapshot(), read_at = clock_timestamp()
FROM cur
RETURNING (SELECT count(*) FROM fresh)
