-- Transitions that touch one existing event record and draw no fence: completions,
-- failures, releases, heartbeats. Their numbers come flattened, 18 for each row ($8), since
-- every array of its own costs as much as several rows. The row is locked and its version
-- tested first; one that somebody else has locked is skipped, not waited for. It is then
-- written where it was found: should a heartbeat have moved it since the statement began,
-- nothing is written, and the command is decided again.
WITH env AS MATERIALIZED (
    SELECT x.epoch, x.epoch << 41 AS base, 'epoch'::timestamptz + current_setting('idemsvc.started')::bigint * interval '1 microsecond' AS epoch_started_at
    FROM (SELECT NULLIF(current_setting('idemsvc.epoch'), '')::bigint AS epoch) x WHERE x.epoch IS NOT NULL
), w AS MATERIALIZED (
    SELECT t.*, get_byte(uuid_send(t.id), 0)::smallint AS bucket, (t.n - 1) * 18 AS o
    FROM unnest($1::uuid[], $2::uuid[], $3::bytea[], $4::bytea[], $5::bytea[], $6::text[], $7::text[])
        WITH ORDINALITY AS t(id, nonce, detail, result, body, lanes, terms, n)
), le AS MATERIALIZED (
    SELECT w.*, e.ctid AS place, CASE WHEN e.fence < env.base THEN greatest(e.lease_until, env.epoch_started_at + e.lease_us * interval '1 microsecond')
        ELSE e.lease_until END AS lease_until
    FROM env, w, LATERAL (
        SELECT e.ctid, e.fence, e.lease_until, e.lease_us FROM idemsvc.event e
        WHERE e.bucket = w.bucket AND e.id = w.id AND e.version = ($8::bigint[])[w.o + 1]
        OFFSET 0 FOR UPDATE SKIP LOCKED) e
), moment AS MATERIALIZED (
    SELECT clock_timestamp() AS at FROM (SELECT count(*) AS n FROM le OFFSET 0) locked WHERE n >= 0
), se AS (
    UPDATE idemsvc.event e SET
        version = e.version + ($8::bigint[])[l.o + 3],
        nonce = l.nonce,
        lease_until = CASE
            WHEN ($8::bigint[])[l.o + 3] = 0 THEN greatest(e.lease_until, least(m.at + ($8::bigint[])[l.o + 9] * interval '1 microsecond',
                'epoch'::timestamptz + ($8::bigint[])[l.o + 15] * interval '1 microsecond'))
            WHEN ($8::bigint[])[l.o + 9] = -1 THEN e.lease_until WHEN ($8::bigint[])[l.o + 9] >= 0 THEN m.at + ($8::bigint[])[l.o + 9] * interval '1 microsecond' END,
        lease_us = ($8::bigint[])[l.o + 8],
        ended_at = CASE WHEN ($8::bigint[])[l.o + 10] = -1 THEN e.ended_at WHEN ($8::bigint[])[l.o + 10] >= 0 THEN m.at
            WHEN ($8::bigint[])[l.o + 10] < -2 THEN 'epoch'::timestamptz - ($8::bigint[])[l.o + 10] * interval '1 microsecond' END,
        due_at = CASE WHEN ($8::bigint[])[l.o + 11] = -1 THEN e.due_at WHEN ($8::bigint[])[l.o + 11] >= 0 THEN m.at + ($8::bigint[])[l.o + 11] * interval '1 microsecond' END,
        waiting_since = CASE WHEN ($8::bigint[])[l.o + 12] = -1 THEN e.waiting_since WHEN ($8::bigint[])[l.o + 12] >= 0 THEN m.at END,
        not_yet_since = CASE WHEN ($8::bigint[])[l.o + 13] = -1 THEN e.not_yet_since WHEN ($8::bigint[])[l.o + 13] >= 0 THEN m.at END,
        total = ($8::bigint[])[l.o + 6]::integer, effects = ($8::bigint[])[l.o + 7]::integer, state = ($8::bigint[])[l.o + 5]::smallint,
        by_expiry = (($8::bigint[])[l.o + 4] & 2) <> 0, lanes = l.lanes, detail = l.detail,
        result = CASE WHEN (($8::bigint[])[l.o + 4] & 1) <> 0 THEN l.result ELSE e.result END
    FROM moment m, le l
    WHERE (($8::bigint[])[l.o + 2] = 0 OR (($8::bigint[])[l.o + 2] = 1) = (l.lease_until > m.at))
      AND e.ctid = l.place AND e.id = l.id AND e.version = ($8::bigint[])[l.o + 1]
    RETURNING e.id, e.fence, e.version, e.lease_until, m.at, l.o, l.terms, l.body
), jj AS (
    INSERT INTO idemsvc.journal AS j (at, xid, id, seq, fence, epoch, due_at, policy, subject, kind, state, terms, body, hash)
    SELECT s.at, pg_current_xact_id()::text::bigint + current_setting('idemsvc.xid_base')::bigint, s.id, s.version, 0, env.epoch,
        CASE WHEN ($8::bigint[])[s.o + 18] >= 0 THEN s.at + ($8::bigint[])[s.o + 18] * interval '1 microsecond'
             WHEN ($8::bigint[])[s.o + 18] < -2 THEN 'epoch'::timestamptz - ($8::bigint[])[s.o + 18] * interval '1 microsecond' END,
        ($8::bigint[])[s.o + 14]::integer, 1, ($8::bigint[])[s.o + 16]::smallint, ($8::bigint[])[s.o + 17]::smallint, NULLIF(s.terms, ''), s.body,
        sha256(uuid_send(s.id) || int8send(s.version) || int8send(0) || int8send(env.epoch) || timestamptz_send(s.at)
            || int4send(($8::bigint[])[s.o + 14]::integer) || int2send(1::smallint) || int2send(($8::bigint[])[s.o + 16]::smallint) || int2send(($8::bigint[])[s.o + 17]::smallint)
            || '\x0000'::bytea || s.body)
    FROM env, se s WHERE ($8::bigint[])[s.o + 3] > 0
)
SELECT s.id, s.fence, s.at, s.lease_until FROM se s
