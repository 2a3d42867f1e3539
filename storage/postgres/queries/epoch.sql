-- A new epoch of fences, when the cluster's identity or timeline is not the one that the
-- current epoch was established on, or by hand ($1). Everybody who waited for the row
-- finds it done. Hours since 2025 outrun any epoch of a copy.
UPDATE idemsvc.meta m SET
    epoch = greatest(m.epoch + 1, floor(extract(epoch FROM clock_timestamp() - '2025-01-01 00:00:00+00'::timestamptz) / 3600)::bigint),
    epoch_started_at = clock_timestamp(), system_identifier = c.system_identifier, timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), halted = false
FROM pg_control_system() c
WHERE $1 OR m.timeline <> substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) OR m.system_identifier <> c.system_identifier
RETURNING m.epoch
