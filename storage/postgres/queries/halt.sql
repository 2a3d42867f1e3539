-- A valid token carries a fence that this database has not drawn: it is an older copy of
-- itself. Nothing is granted until an operator begins a new epoch.
UPDATE idemsvc.meta m SET halted = true
WHERE m.timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AND NOT m.halted
  AND $1 > (m.epoch << 41) + (SELECT f.last_value FROM idemsvc.fence f)
RETURNING m.epoch
