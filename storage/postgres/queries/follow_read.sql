-- What the reader behind the journal has not read yet, the oldest blocks first. The cursor
-- is a snapshot: what is visible now and was not then is new (newer than all that had begun,
-- or one of those that were running), so that neither commit order nor a long transaction
-- elsewhere hides or delays a row. A cursor that another replica moved, or wrote behind,
-- less than $1 microseconds ago is left to it.
WITH cur AS MATERIALIZED (
    SELECT f.snapshot, m.xid_base FROM idemsvc.follower f, idemsvc.meta m
    WHERE $1 = 0 OR greatest(f.read_at, f.held_at) NOT BETWEEN clock_timestamp() - $1 * interval '1 microsecond' AND clock_timestamp()
)
SELECT cur.snapshot::text, pg_current_snapshot()::text, cur.xid_base, j.behind, j.xid, j.at, j.heads, j.body
FROM cur LEFT JOIN LATERAL (
    SELECT false AS behind, j.* FROM (
        SELECT j.xid, j.at, j.heads, j.body FROM idemsvc.journal j
        WHERE j.xid >= cur.xid_base + pg_snapshot_xmax(cur.snapshot)::text::bigint ORDER BY j.xid FETCH FIRST $2 ROWS WITH TIES) j
    UNION ALL
    SELECT true, j.* FROM pg_snapshot_xip(cur.snapshot) x, LATERAL (
        SELECT j.xid, j.at, j.heads, j.body FROM idemsvc.journal j WHERE j.xid = cur.xid_base + x::text::bigint OFFSET 0) j
    ) j ON true
