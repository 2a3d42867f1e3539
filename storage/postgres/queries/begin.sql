-- The first statement of every batch: it bounds lock waits, insists on durability, steers
-- the planner to the primary keys whatever its statistics say (a plan made on an empty
-- table would otherwise be kept while the table grows), and tells the time and the epoch.
-- cpu_tuple_cost makes every row read dear, so that a scan never wins over look-ups.
SELECT set_config('lock_timeout', '250ms', true),
       set_config('synchronous_commit', 'on', true),
       set_config('enable_seqscan', 'off', true),
       set_config('random_page_cost', '0.1', true),
       set_config('cpu_tuple_cost', '1', true),
       set_config('jit', 'off', true),
       current_setting('transaction_isolation'),
       clock_timestamp(), m.epoch, m.epoch_started_at, m.halted,
       m.timeline = idemsvc.timeline() AND m.system_identifier = (SELECT system_identifier FROM pg_control_system())
FROM idemsvc.meta m
