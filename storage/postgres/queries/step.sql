-- Transitions that touch one existing event record and draw no fence: completions,
-- failures, releases, heartbeats. Their numbers come flattened, 14 for each row ($6), since
-- every array of its own costs as much as several rows. The row is locked and its version
-- tested first; one that somebody else has locked is skipped, not waited for. It is then
-- written where it was found: should a heartbeat have moved it since the statement began,
-- nothing is written, and the command is decided again.
WITH env AS MATERIALIZED (
    SELECT m.epoch, m.epoch << 41 AS base, m.epoch_started_at, m.xid_base, clock_timestamp() AS at
    FROM idemsvc.meta m
    WHERE NOT m.halted AND m.timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
      AND COALESCE(current_setting('idemsvc.foreign', true), '') <> 'on'
), le AS MATERIALIZED (
    SELECT w.id, w.nonce, w.detail, w.result, w.lanes, (w.n - 1) * 14 AS o, e.ctid AS place,
        CASE WHEN e.fence < env.base THEN greatest(e.lease_until, env.epoch_started_at + e.lease_us * interval '1 microsecond') ELSE e.lease_until END AS lease_until
    FROM env, unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::bytea[], $5::text[]) WITH ORDINALITY AS w(id, nonce, detail, result, lanes, n), LATERAL (
        SELECT e.ctid, e.fence, e.lease_until, e.lease_us FROM idemsvc.event e
        WHERE e.bucket = get_byte(uuid_send(w.id), 0)::smallint AND e.id = w.id AND e.version = ($6::bigint[])[(w.n - 1) * 14 + 1]
        OFFSET 0 FOR UPDATE SKIP LOCKED) e
), moment AS MATERIALIZED (
    SELECT clock_timestamp() AS at FROM (SELECT count(*) AS n FROM le OFFSET 0) locked WHERE n > 0
), se AS (
    UPDATE idemsvc.event e SET
        version = e.version + ($6::bigint[])[l.o + 3],
        nonce = l.nonce,
        lease_until = CASE
            WHEN ($6::bigint[])[l.o + 3] = 0 THEN greatest(e.lease_until, least(m.at + ($6::bigint[])[l.o + 9] * interval '1 microsecond',
                'epoch'::timestamptz + ($6::bigint[])[l.o + 14] * interval '1 microsecond'))
            WHEN ($6::bigint[])[l.o + 9] = -1 THEN e.lease_until WHEN ($6::bigint[])[l.o + 9] >= 0 THEN m.at + ($6::bigint[])[l.o + 9] * interval '1 microsecond' END,
        lease_us = ($6::bigint[])[l.o + 8],
        ended_at = CASE WHEN ($6::bigint[])[l.o + 10] = -1 THEN e.ended_at WHEN ($6::bigint[])[l.o + 10] >= 0 THEN m.at
            WHEN ($6::bigint[])[l.o + 10] < -2 THEN 'epoch'::timestamptz - ($6::bigint[])[l.o + 10] * interval '1 microsecond' END,
        due_at = CASE WHEN ($6::bigint[])[l.o + 11] = -1 THEN e.due_at WHEN ($6::bigint[])[l.o + 11] >= 0 THEN m.at + ($6::bigint[])[l.o + 11] * interval '1 microsecond' END,
        waiting_since = CASE WHEN ($6::bigint[])[l.o + 12] = -1 THEN e.waiting_since WHEN ($6::bigint[])[l.o + 12] >= 0 THEN m.at END,
        not_yet_since = CASE WHEN ($6::bigint[])[l.o + 13] = -1 THEN e.not_yet_since WHEN ($6::bigint[])[l.o + 13] >= 0 THEN m.at END,
        total = ($6::bigint[])[l.o + 6]::integer, effects = ($6::bigint[])[l.o + 7]::integer, state = ($6::bigint[])[l.o + 5]::smallint,
        by_expiry = (($6::bigint[])[l.o + 4] & 2) <> 0, lanes = l.lanes, detail = l.detail,
        result = CASE WHEN (($6::bigint[])[l.o + 4] & 1) <> 0 THEN l.result ELSE e.result END
    FROM moment m, le l
    WHERE (($6::bigint[])[l.o + 2] = 0 OR (($6::bigint[])[l.o + 2] = 1) = (l.lease_until > m.at))
      AND e.ctid = l.place AND e.id = l.id AND e.version = ($6::bigint[])[l.o + 1]
    RETURNING e.id, e.fence, e.lease_until, ($6::bigint[])[l.o + 3] > 0 AS rises
), block AS (
    INSERT INTO idemsvc.journal (at, xid, epoch, heads, body, hash)
    SELECT m.at, x.xid, env.epoch, h.heads, $7,
        sha256(timestamptz_send(m.at) || int8send(x.xid) || int8send(env.epoch) || int4send(length(h.heads)) || h.heads || $7)
    FROM env, moment m, (SELECT string_agg(uuid_send(s.id) || int8send(s.fence), '') AS heads FROM se s WHERE s.rises) h,
        LATERAL (SELECT pg_current_xact_id()::text::bigint + env.xid_base AS xid WHERE h.heads IS NOT NULL) x
)
SELECT s.id, s.fence, m.at, s.lease_until, (SELECT pg_current_xact_id()::text::bigint) FROM moment m, se s
