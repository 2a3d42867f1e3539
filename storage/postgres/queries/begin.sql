-- The first statement of every batch: it bounds lock waits, insists on durability, steers
-- the planner to the primary keys whatever its statistics say (a plan made on an empty
-- table would otherwise be kept while the table grows), and tells the time and the epoch.
-- cpu_tuple_cost makes every row read dear, so that a scan never wins over look-ups. A
-- generic plan is made once for each connection; planning anew costs more than running.
-- The statements that follow write only on the cluster and the timeline that the epoch was
-- established on. They look at the timeline themselves; which cluster it is they are told.
SELECT set_config('lock_timeout', '100ms', true),
       set_config('synchronous_commit', 'on', true),
       set_config('enable_seqscan', 'off', true),
       set_config('random_page_cost', '0.1', true),
       set_config('cpu_tuple_cost', '1', true),
       set_config('jit', 'off', true),
       set_config('plan_cache_mode', 'force_generic_plan', true),
       set_config('idemsvc.foreign', CASE WHEN m.home THEN '' ELSE 'on' END, true),
       current_setting('transaction_isolation'),
       clock_timestamp(), m.epoch, m.epoch_started_at, m.halted, m.home AND m.settled
FROM (SELECT m.epoch, m.epoch_started_at, m.halted, m.system_identifier = c.system_identifier AS home,
          m.timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS settled
      FROM idemsvc.meta m, pg_control_system() c OFFSET 0) m
