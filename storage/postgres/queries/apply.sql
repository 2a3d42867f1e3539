-- All other transitions, whole or not at all for each command (cmd, from 1). Existing
-- rows are locked and their versions tested before anything is written; a row that
-- somebody else has locked is skipped, not waited for. Only commands of which every row
-- was locked go on; fences are drawn and the moment of writing is taken after the locks.
-- Event records that must not exist yet are inserted, and lead their command. Everything
-- else follows from what was locked and inserted.
WITH env AS MATERIALIZED (
    SELECT x.epoch, x.epoch << 41 AS base, 'epoch'::timestamptz + current_setting('idemsvc.started')::bigint * interval '1 microsecond' AS epoch_started_at
    FROM (SELECT NULLIF(current_setting('idemsvc.epoch'), '')::bigint AS epoch) x WHERE x.epoch IS NOT NULL
), cmds AS MATERIALIZED (
    SELECT * FROM unnest($1::integer[], $2::integer[], $3::boolean[]) AS t(cmd, need, draw)
), ue AS MATERIALIZED (
    SELECT * FROM unnest($4::integer[], $5::smallint[], $6::uuid[], $7::bigint[], $8::smallint[], $9::bigint[], $10::boolean[], $11::smallint[],
                         $12::boolean[], $13::uuid[], $14::integer[], $15::integer[], $16::text[], $17::bigint[], $18::bigint[], $19::bigint[],
                         $20::bigint[], $21::bigint[], $22::bigint[], $23::bigint[], $24::bytea[], $25::boolean[], $26::bytea[], $27::bigint[])
        AS t(cmd, bucket, id, old_version, guard, rises, draw, state, by_expiry, nonce, total, effects, lanes, lease_us, lease, granted,
             ended, due, waiting, not_yet, detail, set_result, result, lease_cap)
), ie AS MATERIALIZED (
    SELECT * FROM unnest($28::integer[], $29::smallint[], $30::uuid[], $31::text[], $32::text[], $33::text[], $34::text[], $35::bytea[],
                         $36::bigint[], $37::boolean[], $38::smallint[], $39::uuid[], $40::integer[], $41::integer[], $42::text[], $43::bigint[],
                         $44::bigint[], $45::bigint[], $46::bigint[], $47::bytea[])
        AS t(cmd, bucket, id, namespace, consumer, source, event_id, facts, version, draw, state, nonce, total, effects, lanes, lease_us,
             lease, granted, waiting, detail)
), ur AS MATERIALIZED (
    SELECT * FROM unnest($48::integer[], $49::smallint[], $50::uuid[], $51::bigint[], $52::smallint[], $53::smallint[], $54::boolean[], $55::boolean[],
                         $56::bigint[], $57::bigint[], $58::bigint[], $59::uuid[], $60::bigint[], $61::boolean[], $62::boolean[], $63::uuid[],
                         $64::bigint[], $65::text[], $66::text[], $67::bytea[])
        AS t(cmd, bucket, id, old_version, kind, mode, owned, applied, epoch, value, start, owner, owner_fence, lane, own_fence, applied_by,
             gap_since, machine, state, print)
), uf AS MATERIALIZED (
    SELECT * FROM unnest($68::integer[], $69::smallint[], $70::uuid[], $71::bigint[], $72::smallint[], $73::uuid[], $74::bigint[], $75::bigint[],
                         $76::integer[], $77::bytea[], $78::bytea[])
        AS t(cmd, bucket, id, old_version, state, event, fence, lease, bytes, detail, result)
), le AS MATERIALIZED (
    SELECT u.cmd, u.guard,
        CASE WHEN e.fence < env.base THEN greatest(e.lease_until, env.epoch_started_at + e.lease_us * interval '1 microsecond') ELSE e.lease_until END AS lease_until
    FROM env, ue u, LATERAL (
        SELECT e.fence, e.lease_until, e.lease_us FROM idemsvc.event e
        WHERE e.bucket = u.bucket AND e.id = u.id AND e.version = u.old_version
        OFFSET 0 FOR UPDATE SKIP LOCKED) e
), lr AS MATERIALIZED (
    SELECT u.cmd FROM ur u, LATERAL (
        SELECT 1 FROM idemsvc.resource r WHERE r.bucket = u.bucket AND r.id = u.id AND r.version = u.old_version
        OFFSET 0 FOR UPDATE SKIP LOCKED) r
), lf AS MATERIALIZED (
    SELECT u.cmd FROM uf u, LATERAL (
        SELECT 1 FROM idemsvc.effect f WHERE f.bucket = u.bucket AND f.id = u.id AND f.version = u.old_version
        OFFSET 0 FOR UPDATE SKIP LOCKED) f
), moment AS MATERIALIZED (
    SELECT clock_timestamp() AS at
    FROM (SELECT (SELECT count(*) FROM le) + (SELECT count(*) FROM lr) + (SELECT count(*) FROM lf) AS n OFFSET 0) locked
    WHERE n >= 0
), ok AS MATERIALIZED (
    SELECT c.cmd, CASE WHEN c.draw THEN env.base + nextval('idemsvc.fence') ELSE 0 END AS fence
    FROM env, cmds c LEFT JOIN (
        SELECT x.cmd, count(*) AS n FROM (
            SELECT le.cmd FROM le, moment WHERE le.guard = 0 OR (le.guard = 1) = (le.lease_until > moment.at)
            UNION ALL SELECT lr.cmd FROM lr
            UNION ALL SELECT lf.cmd FROM lf) x
        GROUP BY x.cmd) locked USING (cmd)
    WHERE COALESCE(locked.n, 0) = c.need
), won AS (
    INSERT INTO idemsvc.event AS e (bucket, id, created_at, namespace, consumer, source, event_id, facts, version, fence, nonce, lease_until,
        lease_us, granted_at, waiting_since, total, effects, state, by_expiry, lanes, detail)
    SELECT i.bucket, i.id, m.at, i.namespace, i.consumer, i.source, i.event_id, i.facts, i.version, CASE WHEN i.draw THEN ok.fence ELSE 0 END, i.nonce,
        CASE WHEN i.lease >= 0 THEN m.at + i.lease * interval '1 microsecond' END, i.lease_us,
        CASE WHEN i.granted >= 0 THEN m.at END, CASE WHEN i.waiting >= 0 THEN m.at END, i.total, i.effects, i.state, false, i.lanes, i.detail
    FROM moment m, ie i JOIN ok USING (cmd)
    ORDER BY i.bucket, i.id
    ON CONFLICT DO NOTHING
    RETURNING e.id
), done AS MATERIALIZED (
    SELECT ok.cmd, ok.fence FROM ok WHERE NOT EXISTS (SELECT FROM ie WHERE ie.cmd = ok.cmd)
    UNION ALL
    SELECT ok.cmd, ok.fence FROM ok JOIN ie USING (cmd) JOIN won USING (id)
), se AS (
    UPDATE idemsvc.event e SET
        version = e.version + u.rises,
        fence = CASE WHEN u.draw THEN d.fence ELSE e.fence END,
        nonce = u.nonce,
        lease_until = CASE
            WHEN u.rises = 0 THEN greatest(e.lease_until, least(m.at + u.lease * interval '1 microsecond',
                'epoch'::timestamptz + u.lease_cap * interval '1 microsecond'))
            WHEN u.lease = -1 THEN e.lease_until WHEN u.lease >= 0 THEN m.at + u.lease * interval '1 microsecond' END,
        lease_us = u.lease_us,
        granted_at = CASE WHEN u.granted >= 0 THEN m.at ELSE e.granted_at END,
        ended_at = CASE WHEN u.ended = -1 THEN e.ended_at WHEN u.ended >= 0 THEN m.at WHEN u.ended < -2 THEN 'epoch'::timestamptz - u.ended * interval '1 microsecond' END,
        due_at = CASE WHEN u.due = -1 THEN e.due_at WHEN u.due >= 0 THEN m.at + u.due * interval '1 microsecond' END,
        waiting_since = CASE WHEN u.waiting = -1 THEN e.waiting_since WHEN u.waiting >= 0 THEN m.at END,
        not_yet_since = CASE WHEN u.not_yet = -1 THEN e.not_yet_since WHEN u.not_yet >= 0 THEN m.at END,
        total = u.total, effects = u.effects, state = u.state, by_expiry = u.by_expiry, lanes = u.lanes, detail = u.detail,
        result = CASE WHEN u.set_result THEN u.result ELSE e.result END
    FROM moment m, ue u JOIN done d USING (cmd)
    WHERE e.bucket = u.bucket AND e.id = u.id AND e.version = u.old_version
    RETURNING u.cmd, e.lease_until, e.due_at, e.id, u.rises
), sr AS (
    UPDATE idemsvc.resource r SET
        version = r.version + 1, kind = u.kind, mode = u.mode, owned = u.owned, applied = u.applied, epoch = u.epoch, value = u.value,
        start = u.start, owner = u.owner, owner_fence = CASE WHEN u.own_fence THEN d.fence ELSE u.owner_fence END,
        lane_fence = CASE WHEN u.lane THEN d.fence ELSE r.lane_fence END, applied_by = u.applied_by,
        gap_since = CASE WHEN u.gap_since = -1 THEN r.gap_since WHEN u.gap_since >= 0 THEN m.at END,
        machine = u.machine, state = u.state, print = u.print
    FROM moment m, ur u JOIN done d USING (cmd)
    WHERE r.bucket = u.bucket AND r.id = u.id AND r.version = u.old_version
    RETURNING u.cmd
), sf AS (
    UPDATE idemsvc.effect f SET
        version = f.version + 1, state = u.state, event = u.event, fence = u.fence,
        lease_until = CASE WHEN u.lease = -1 THEN f.lease_until WHEN u.lease >= 0 THEN m.at + u.lease * interval '1 microsecond' END,
        since = m.at, bytes = u.bytes, detail = u.detail, result = u.result
    FROM moment m, uf u JOIN done d USING (cmd)
    WHERE f.bucket = u.bucket AND f.id = u.id AND f.version = u.old_version
    RETURNING u.cmd
), aa AS (
    INSERT INTO idemsvc.attempt (bucket, event, fence, nonce, granted_at, ended_at, due_at, detail)
    SELECT t.bucket, t.event, t.fence, t.nonce, t.granted_at, t.ended_at, t.due_at, t.detail
    FROM unnest($79::integer[], $80::smallint[], $81::uuid[], $82::bigint[], $83::uuid[], $84::timestamptz[], $85::timestamptz[], $86::timestamptz[], $87::bytea[])
        AS t(cmd, bucket, event, fence, nonce, granted_at, ended_at, due_at, detail) JOIN done USING (cmd)
), mm AS (
    INSERT INTO idemsvc.member (bucket, resource, epoch, value, event_bucket, event)
    SELECT t.bucket, t.resource, t.epoch, t.value, t.event_bucket, t.event
    FROM unnest($88::integer[], $89::smallint[], $90::uuid[], $91::bigint[], $92::bigint[], $93::smallint[], $94::uuid[])
        AS t(cmd, bucket, resource, epoch, value, event_bucket, event) JOIN done USING (cmd)
    ORDER BY t.bucket, t.resource, t.epoch, t.value, t.event
    ON CONFLICT DO NOTHING
), jj AS (
    INSERT INTO idemsvc.journal AS j (at, xid, id, seq, fence, epoch, due_at, policy, subject, kind, state, terms, body, hash)
    SELECT m.at, pg_current_xact_id()::text::bigint + current_setting('idemsvc.xid_base')::bigint, t.id, t.seq, d.fence, env.epoch, CASE WHEN t.due >= 0 THEN m.at + t.due * interval '1 microsecond' WHEN t.due < -2 THEN 'epoch'::timestamptz - t.due * interval '1 microsecond' END,
        t.policy, t.subject, t.kind, t.state, NULLIF(t.terms, ''), t.body,
        sha256(uuid_send(t.id) || int8send(t.seq) || int8send(d.fence) || int8send(env.epoch) || timestamptz_send(m.at)
            || int4send(t.policy) || int2send(t.subject) || int2send(t.kind) || int2send(t.state) || '\x0000'::bytea || t.body)
    FROM env, moment m,
        unnest($95::integer[], $96::uuid[], $97::bigint[], $98::integer[], $99::smallint[], $100::smallint[], $101::smallint[], $102::text[],
               $103::bytea[], $104::bigint[])
        AS t(cmd, id, seq, policy, subject, kind, state, terms, body, due) JOIN done d USING (cmd)
)
-- What was locked must have been written: anything else breaks the transaction.
SELECT d.cmd, d.fence, m.at,
    1 / (CASE WHEN (SELECT count(*) FROM se) = (SELECT count(*) FROM ue JOIN done USING (cmd))
               AND (SELECT count(*) FROM sr) = (SELECT count(*) FROM ur JOIN done USING (cmd))
               AND (SELECT count(*) FROM sf) = (SELECT count(*) FROM uf JOIN done USING (cmd)) THEN 1 ELSE 0 END) AS whole,
    (SELECT se.lease_until FROM se WHERE se.cmd = d.cmd AND se.rises = 0) AS extended
FROM moment m, done d
