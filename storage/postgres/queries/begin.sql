-- The first statement of every batch: it bounds lock waits, insists on durability, steers
-- the planner to the primary keys whatever its statistics say (a plan made on an empty
-- table would otherwise be kept while the table grows), and tells the time and the epoch.
-- cpu_tuple_cost makes every row read dear, so that a scan never wins over look-ups. A
-- generic plan is made once for each connection; planning anew costs more than running.
-- The epoch is handed to the statements that follow, empty where nothing may be written:
-- the cluster or its timeline is not the one that the epoch was established on.
SELECT set_config('lock_timeout', '100ms', true),
       set_config('synchronous_commit', 'on', true),
       set_config('enable_seqscan', 'off', true),
       set_config('random_page_cost', '0.1', true),
       set_config('cpu_tuple_cost', '1', true),
       set_config('jit', 'off', true),
       set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('idemsvc.epoch', CASE WHEN m.healthy AND NOT m.halted THEN m.epoch::text ELSE '' END, true),
       set_config('idemsvc.started', (extract(epoch FROM m.epoch_started_at) * 1000000)::bigint::text, true),
       set_config('idemsvc.xid_base', m.xid_base::text, true),
       current_setting('transaction_isolation'),
       clock_timestamp(), m.epoch, m.epoch_started_at, m.halted, m.healthy
FROM (SELECT m.epoch, m.epoch_started_at, m.halted, m.xid_base,
          m.timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AND m.system_identifier = c.system_identifier AS healthy
      FROM idemsvc.meta m, pg_control_system() c OFFSET 0) m
