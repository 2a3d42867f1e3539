-- The first statement of a batch that reads, on a connection that has been tuned when it was
-- made (see Tune) and whose cluster has been identified by an earlier batch: a direct
-- connection cannot change its cluster, but a standby can be promoted under it. Batches that
-- only write the common transitions do without it.
SELECT current_setting('transaction_isolation'),
       clock_timestamp(), m.epoch, m.epoch_started_at, m.halted, m.timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
FROM idemsvc.meta m
