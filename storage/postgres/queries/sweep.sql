-- Claims whose lease seems to be over. Heartbeats leave no trace in this table, so each
-- is looked up; those that live get their true time back. A locked row is skipped.
WITH due AS MATERIALIZED (
    SELECT u.bucket, u.id FROM idemsvc.unfinished u
    WHERE u.due_at <= statement_timestamp() AND u.state = 2
    ORDER BY u.due_at LIMIT $1 FOR UPDATE SKIP LOCKED
), cur AS MATERIALIZED (
    SELECT d.bucket, d.id, e.state, CASE WHEN e.fence < (m.epoch << 41)
        THEN greatest(e.lease_until, m.epoch_started_at + e.lease_us * interval '1 microsecond') ELSE e.lease_until END AS lease_until
    FROM idemsvc.meta m, due d, LATERAL (
        SELECT e.state, e.fence, e.lease_until, e.lease_us FROM idemsvc.event e WHERE e.bucket = d.bucket AND e.id = d.id OFFSET 0) e
), orphan AS (
    DELETE FROM idemsvc.unfinished u USING due d
    WHERE u.bucket = d.bucket AND u.id = d.id AND NOT EXISTS (SELECT FROM cur c WHERE c.bucket = d.bucket AND c.id = d.id)
), later AS (
    -- What is over now is looked at again in half a minute, should settling it fail: no
    -- row may stay first in line for ever.
    UPDATE idemsvc.unfinished u
    SET due_at = CASE WHEN c.state = 2 AND c.lease_until > clock_timestamp() THEN c.lease_until ELSE clock_timestamp() + interval '30 seconds' END
    FROM cur c WHERE u.bucket = c.bucket AND u.id = c.id
)
SELECT c.id FROM cur c WHERE c.state = 2 AND c.lease_until <= clock_timestamp()
