-- A new epoch of fences, when the cluster's identity or timeline is not the one that the
-- current epoch was established on, or by hand ($1). Everybody who waited for the row
-- finds it done. Hours since 2025 outrun any epoch of a copy.
-- On another cluster transaction IDs begin anew: those of the journal count on from the
-- highest, the reader behind it starts here, and what it may not have read is filled in.
WITH old AS MATERIALIZED (
    SELECT m.* FROM idemsvc.meta m FOR UPDATE
), here AS MATERIALIZED (
    SELECT c.system_identifier, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline, c.system_identifier <> old.system_identifier AS moved
    FROM pg_control_system() c, old
    WHERE $1 OR c.system_identifier <> old.system_identifier OR substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) <> old.timeline
), raised AS (
    UPDATE idemsvc.meta m SET
        epoch = greatest(m.epoch + 1, floor(extract(epoch FROM clock_timestamp() - '2025-01-01 00:00:00+00'::timestamptz) / 3600)::bigint),
        epoch_started_at = clock_timestamp(), system_identifier = here.system_identifier, timeline = here.timeline, halted = false,
        xid_base = CASE WHEN here.moved THEN COALESCE((SELECT max(j.xid) FROM idemsvc.journal j), 0) ELSE m.xid_base END
    FROM here
    RETURNING m.epoch, here.moved
), cursor AS (
    UPDATE idemsvc.follower f SET snapshot = pg_current_snapshot(), read_at = clock_timestamp() FROM raised WHERE raised.moved
), open AS (
    INSERT INTO idemsvc.unfinished AS u (bucket, id, seq, state, since, due_at, namespace, consumer)
    SELECT e.bucket, e.id, e.version, e.state, COALESCE(e.ended_at, e.granted_at, e.created_at),
        CASE e.state WHEN 2 THEN e.lease_until WHEN 1 THEN COALESCE(e.due_at, clock_timestamp()) WHEN 4 THEN COALESCE(e.due_at, clock_timestamp()) END,
        e.namespace, e.consumer
    FROM raised, idemsvc.event e WHERE raised.moved AND e.state NOT IN (3, 7, 10)
    ORDER BY e.bucket, e.id
    ON CONFLICT (bucket, id) DO UPDATE SET seq = excluded.seq, state = excluded.state, due_at = excluded.due_at
), found AS (
    INSERT INTO idemsvc.lookup (at, term, id)
    SELECT DISTINCT j.at, t.term, j.id
    FROM raised, idemsvc.follower f, idemsvc.journal j, LATERAL unnest(j.terms::bigint[]) AS t(term)
    WHERE raised.moved AND j.terms IS NOT NULL AND j.at >= f.read_at - interval '1 hour'
)
SELECT raised.epoch FROM raised
