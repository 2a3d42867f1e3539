-- The first statement of a batch on a connection that has been tuned when it was made (see
-- Tune) and whose cluster has been identified by an earlier batch: a direct connection
-- cannot change its cluster, but a standby can be promoted under it.
SELECT set_config('idemsvc.epoch', CASE WHEN m.healthy AND NOT m.halted THEN m.epoch::text ELSE '' END, true),
       set_config('idemsvc.started', (extract(epoch FROM m.epoch_started_at) * 1000000)::bigint::text, true),
       set_config('idemsvc.xid_base', m.xid_base::text, true),
       current_setting('transaction_isolation'),
       clock_timestamp(), m.epoch, m.epoch_started_at, m.halted, m.healthy
FROM (SELECT m.epoch, m.epoch_started_at, m.halted, m.xid_base,
          m.timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS healthy
      FROM idemsvc.meta m OFFSET 0) m
