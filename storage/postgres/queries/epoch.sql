-- A new epoch of fences, when the cluster's identity or timeline is not the one that the
-- current epoch was established on, or by hand ($1). Everybody who waited for the row
-- finds it done. Hours since 2025 outrun any epoch of a copy.
-- On another cluster transaction IDs begin anew: those of the journal count on from the
-- highest.
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
)
SELECT raised.epoch, raised.moved FROM raised
