-- All other transitions, whole or not at all for each command (cmd, from 1). Existing
-- rows are locked and their versions tested before anything is written; a row that
-- somebody else has locked is skipped, not waited for. Only commands of which every row
-- was locked go on; fences are drawn and the moment of writing is taken after the locks.
-- Event records that must not exist yet are inserted, and lead their command; after all of
-- them come side effects that must not exist yet, of which a command has one at most, and
-- none beside a new event. Everything else follows from what was locked and inserted.
--
-- The parts between «[» and «]» are left out where no command of the batch needs them: what
-- a statement costs depends on all that it could do. «:name» is a parameter. Numbers come
-- flattened, so many for each row, since every array of its own costs as much as several rows.
WITH env AS MATERIALIZED (
    SELECT m.epoch, m.epoch << 41 AS base, m.epoch_started_at, m.xid_base, clock_timestamp() AS at
    FROM idemsvc.meta m
    WHERE NOT m.halted AND m.timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
      AND COALESCE(current_setting('idemsvc.foreign', true), '') <> 'on'
), cmds AS MATERIALIZED (
    SELECT t.lead, t.n AS cmd, (:cmds::bigint[])[3 * t.n - 2] AS need, (:cmds::bigint[])[3 * t.n - 1] = 1 AS draw, (:cmds::bigint[])[3 * t.n] AS fence
    FROM unnest(:lead::uuid[]) WITH ORDINALITY AS t(lead, n)
)
--[ue
, ue AS MATERIALIZED (
    SELECT t.id, t.nonce, t.detail, t.result, t.lanes, (t.n - 1) * 16 AS o, (:ue::bigint[])[(t.n - 1) * 16 + 1] AS cmd
    FROM unnest(:ue_id::uuid[], :ue_nonce::uuid[], :ue_detail::bytea[], :ue_result::bytea[], :ue_lanes::text[]) WITH ORDINALITY AS t(id, nonce, detail, result, lanes, n)
), le AS MATERIALIZED (
    SELECT u.cmd, (:ue::bigint[])[u.o + 3] AS guard,
        CASE WHEN e.fence < env.base THEN greatest(e.lease_until, env.epoch_started_at + e.lease_us * interval '1 microsecond') ELSE e.lease_until END AS lease_until
    FROM env, ue u, LATERAL (
        SELECT e.fence, e.lease_until, e.lease_us FROM idemsvc.event e
        WHERE e.bucket = get_byte(uuid_send(u.id), 0)::smallint AND e.id = u.id AND e.version = (:ue::bigint[])[u.o + 2]
        OFFSET 0 FOR UPDATE SKIP LOCKED) e
)
--]
--[ur
, ur AS MATERIALIZED (
    SELECT t.id, t.owner, t.applied_by, t.machine, t.state, t.print, t.covered_by, (t.n - 1) * 11 AS o, (:ur::bigint[])[(t.n - 1) * 11 + 1] AS cmd
    FROM unnest(:ur_id::uuid[], :ur_owner::uuid[], :ur_by::uuid[], :ur_machine::text[], :ur_state::text[], :ur_print::bytea[], :ur_covered_by::uuid[])
        WITH ORDINALITY AS t(id, owner, applied_by, machine, state, print, covered_by, n)
), lr AS MATERIALIZED (
    SELECT u.cmd FROM ur u, LATERAL (
        SELECT 1 FROM idemsvc.resource r
        WHERE r.bucket = get_byte(uuid_send(u.id), 0)::smallint AND r.id = u.id AND r.version = (:ur::bigint[])[u.o + 2]
        OFFSET 0 FOR UPDATE SKIP LOCKED) r
)
--]
--[uf
, uf AS MATERIALIZED (
    SELECT t.id, t.event, t.detail, t.result, (t.n - 1) * 6 AS o, (:uf::bigint[])[(t.n - 1) * 6 + 1] AS cmd
    FROM unnest(:uf_id::uuid[], :uf_event::uuid[], :uf_detail::bytea[], :uf_result::bytea[]) WITH ORDINALITY AS t(id, event, detail, result, n)
), lf AS MATERIALIZED (
    SELECT u.cmd FROM uf u, LATERAL (
        SELECT 1 FROM idemsvc.effect f
        WHERE f.bucket = get_byte(uuid_send(u.id), 0)::smallint AND f.id = u.id AND f.version = (:uf::bigint[])[u.o + 2]
        OFFSET 0 FOR UPDATE SKIP LOCKED) f
)
--]
, moment AS MATERIALIZED (
    SELECT clock_timestamp() AS at FROM (SELECT 0
--[ue
        + (SELECT count(*) FROM le)
--]
--[ur
        + (SELECT count(*) FROM lr)
--]
--[uf
        + (SELECT count(*) FROM lf)
--]
        AS n OFFSET 0) locked
    WHERE n >= 0
), ok AS MATERIALIZED (
    SELECT c.cmd, c.lead, c.need, CASE WHEN c.draw THEN env.base + nextval('idemsvc.fence') ELSE c.fence END AS fence
    FROM env, cmds c LEFT JOIN (
        SELECT x.cmd, count(*) AS n FROM (
            SELECT NULL::bigint AS cmd WHERE false
--[ue
            UNION ALL SELECT le.cmd FROM le, moment WHERE le.guard = 0 OR (le.guard = 1) = (le.lease_until > moment.at)
--]
--[ur
            UNION ALL SELECT lr.cmd FROM lr
--]
--[uf
            UNION ALL SELECT lf.cmd FROM lf
--]
            ) x
        GROUP BY x.cmd) locked USING (cmd)
    WHERE COALESCE(locked.n, 0) = c.need
)
--[ie
, ie AS MATERIALIZED (
    SELECT t.*, (t.n - 1) * 10 AS o, (:ie::bigint[])[(t.n - 1) * 10 + 1] AS cmd
    FROM unnest(:ie_id::uuid[], :ie_namespace::text[], :ie_consumer::text[], :ie_source::text[], :ie_event::text[], :ie_facts::bytea[], :ie_nonce::uuid[],
        :ie_lanes::text[], :ie_detail::bytea[]) WITH ORDINALITY AS t(id, namespace, consumer, source, event_id, facts, nonce, lanes, detail, n)
), won AS (
    INSERT INTO idemsvc.event AS e (bucket, id, created_at, namespace, consumer, source, event_id, facts, version, fence, nonce, lease_until,
        lease_us, granted_at, waiting_since, total, effects, state, by_expiry, lanes, detail)
    SELECT get_byte(uuid_send(i.id), 0), i.id, m.at, i.namespace, i.consumer, i.source, i.event_id, i.facts, (:ie::bigint[])[i.o + 2],
        CASE WHEN (:ie::bigint[])[i.o + 3] = 1 THEN ok.fence ELSE 0 END, i.nonce,
        CASE WHEN (:ie::bigint[])[i.o + 8] >= 0 THEN m.at + (:ie::bigint[])[i.o + 8] * interval '1 microsecond' END, (:ie::bigint[])[i.o + 7],
        CASE WHEN (:ie::bigint[])[i.o + 9] >= 0 THEN m.at END, CASE WHEN (:ie::bigint[])[i.o + 10] >= 0 THEN m.at END,
        (:ie::bigint[])[i.o + 5]::integer, (:ie::bigint[])[i.o + 6]::integer, (:ie::bigint[])[i.o + 4]::smallint, false, i.lanes, i.detail
    FROM moment m, ie i JOIN ok USING (cmd)
    ORDER BY i.id
    ON CONFLICT DO NOTHING
    RETURNING e.id
), led AS (
    SELECT ok.* FROM ok WHERE NOT EXISTS (SELECT FROM ie WHERE ie.cmd = ok.cmd)
    UNION ALL
    SELECT ok.* FROM ok JOIN ie USING (cmd) JOIN won USING (id)
)
--]
--[no ie
, led AS (
    SELECT ok.* FROM ok
)
--]
--[nf
, nf AS MATERIALIZED (
    SELECT t.*, (t.n - 1) * 6 AS o, (:nf::bigint[])[(t.n - 1) * 6 + 1] AS cmd
    FROM unnest(:nf_id::uuid[], :nf_namespace::text[], :nf_consumer::text[], :nf_key_event::uuid[], :nf_key::text[], :nf_event::uuid[], :nf_detail::bytea[],
        :nf_result::bytea[]) WITH ORDINALITY AS t(id, namespace, consumer, key_event, key, event, detail, result, n)
), new AS (
    INSERT INTO idemsvc.effect AS f (bucket, id, namespace, scope, consumer, key_event, key, version, state, event, fence, lease_until, since, bytes, detail, result)
    SELECT get_byte(uuid_send(n.id), 0), n.id, n.namespace, (:nf::bigint[])[n.o + 2]::smallint, n.consumer, n.key_event, n.key, 1,
        (:nf::bigint[])[n.o + 3]::smallint, n.event, (:nf::bigint[])[n.o + 4],
        CASE WHEN (:nf::bigint[])[n.o + 5] >= 0 THEN m.at + (:nf::bigint[])[n.o + 5] * interval '1 microsecond' END, m.at,
        (:nf::bigint[])[n.o + 6]::integer, n.detail, n.result
    FROM moment m, nf n JOIN led USING (cmd)
    ORDER BY n.id
    ON CONFLICT DO NOTHING
    RETURNING f.id
), done AS MATERIALIZED (
    SELECT led.* FROM led WHERE NOT EXISTS (SELECT FROM nf WHERE nf.cmd = led.cmd)
    UNION ALL
    SELECT led.* FROM led JOIN nf USING (cmd) JOIN new USING (id)
)
--]
--[no nf
, done AS MATERIALIZED (
    SELECT led.* FROM led
)
--]
--[ue
, se AS (
    UPDATE idemsvc.event e SET
        version = e.version + (:ue::bigint[])[u.o + 4],
        fence = CASE WHEN ((:ue::bigint[])[u.o + 5] & 4) <> 0 THEN d.fence ELSE e.fence END,
        nonce = u.nonce,
        lease_until = CASE
            WHEN (:ue::bigint[])[u.o + 4] = 0 THEN greatest(e.lease_until, least(m.at + (:ue::bigint[])[u.o + 10] * interval '1 microsecond',
                'epoch'::timestamptz + (:ue::bigint[])[u.o + 16] * interval '1 microsecond'))
            WHEN (:ue::bigint[])[u.o + 10] = -1 THEN e.lease_until WHEN (:ue::bigint[])[u.o + 10] >= 0 THEN m.at + (:ue::bigint[])[u.o + 10] * interval '1 microsecond' END,
        lease_us = (:ue::bigint[])[u.o + 9],
        granted_at = CASE WHEN (:ue::bigint[])[u.o + 11] >= 0 THEN m.at ELSE e.granted_at END,
        ended_at = CASE WHEN (:ue::bigint[])[u.o + 12] = -1 THEN e.ended_at WHEN (:ue::bigint[])[u.o + 12] >= 0 THEN m.at
            WHEN (:ue::bigint[])[u.o + 12] < -2 THEN 'epoch'::timestamptz - (:ue::bigint[])[u.o + 12] * interval '1 microsecond' END,
        due_at = CASE WHEN (:ue::bigint[])[u.o + 13] = -1 THEN e.due_at WHEN (:ue::bigint[])[u.o + 13] >= 0 THEN m.at + (:ue::bigint[])[u.o + 13] * interval '1 microsecond' END,
        waiting_since = CASE WHEN (:ue::bigint[])[u.o + 14] = -1 THEN e.waiting_since WHEN (:ue::bigint[])[u.o + 14] >= 0 THEN m.at END,
        not_yet_since = CASE WHEN (:ue::bigint[])[u.o + 15] = -1 THEN e.not_yet_since WHEN (:ue::bigint[])[u.o + 15] >= 0 THEN m.at END,
        total = (:ue::bigint[])[u.o + 7]::integer, effects = (:ue::bigint[])[u.o + 8]::integer, state = (:ue::bigint[])[u.o + 6]::smallint,
        by_expiry = ((:ue::bigint[])[u.o + 5] & 2) <> 0, lanes = u.lanes, detail = u.detail,
        result = CASE WHEN ((:ue::bigint[])[u.o + 5] & 1) <> 0 THEN u.result ELSE e.result END
    FROM moment m, ue u JOIN done d USING (cmd)
    WHERE e.bucket = get_byte(uuid_send(u.id), 0)::smallint AND e.id = u.id AND e.version = (:ue::bigint[])[u.o + 2]
    RETURNING u.cmd, e.lease_until, (:ue::bigint[])[u.o + 4] AS rises
)
--]
--[ur
, sr AS (
    UPDATE idemsvc.resource r SET
        version = r.version + 1, kind = (:ur::bigint[])[u.o + 3]::smallint, mode = (:ur::bigint[])[u.o + 4]::smallint,
        owned = ((:ur::bigint[])[u.o + 5] & 1) <> 0, applied = ((:ur::bigint[])[u.o + 5] & 2) <> 0,
        epoch = (:ur::bigint[])[u.o + 6], value = (:ur::bigint[])[u.o + 7], start = (:ur::bigint[])[u.o + 8], owner = u.owner,
        owner_fence = CASE WHEN ((:ur::bigint[])[u.o + 5] & 8) <> 0 THEN d.fence ELSE (:ur::bigint[])[u.o + 9] END,
        lane_fence = CASE WHEN ((:ur::bigint[])[u.o + 5] & 4) <> 0 THEN d.fence ELSE r.lane_fence END, applied_by = u.applied_by,
        gap_since = CASE WHEN (:ur::bigint[])[u.o + 10] = -1 THEN r.gap_since WHEN (:ur::bigint[])[u.o + 10] >= 0 THEN m.at END,
        machine = u.machine, state = u.state, print = u.print,
        covered = (:ur::bigint[])[u.o + 11], covered_by = u.covered_by, changed_at = m.at
    FROM moment m, ur u JOIN done d USING (cmd)
    WHERE r.bucket = get_byte(uuid_send(u.id), 0)::smallint AND r.id = u.id AND r.version = (:ur::bigint[])[u.o + 2]
    RETURNING u.cmd
)
--]
--[uf
, sf AS (
    UPDATE idemsvc.effect f SET
        version = f.version + 1, state = (:uf::bigint[])[u.o + 3]::smallint, event = u.event, fence = (:uf::bigint[])[u.o + 4],
        lease_until = CASE WHEN (:uf::bigint[])[u.o + 5] = -1 THEN f.lease_until
            WHEN (:uf::bigint[])[u.o + 5] >= 0 THEN m.at + (:uf::bigint[])[u.o + 5] * interval '1 microsecond' END,
        since = m.at, bytes = (:uf::bigint[])[u.o + 6]::integer, detail = u.detail, result = u.result
    FROM moment m, uf u JOIN done d USING (cmd)
    WHERE f.bucket = get_byte(uuid_send(u.id), 0)::smallint AND f.id = u.id AND f.version = (:uf::bigint[])[u.o + 2]
    RETURNING u.cmd
)
--]
--[aa
, aa AS (
    INSERT INTO idemsvc.attempt (bucket, event, fence, nonce, granted_at, ended_at, due_at, detail)
    SELECT get_byte(uuid_send(t.event), 0), t.event, t.fence, t.nonce, t.granted_at, t.ended_at, t.due_at, t.detail
    FROM unnest(:aa_cmd::bigint[], :aa_event::uuid[], :aa_fence::bigint[], :aa_nonce::uuid[], :aa_granted::timestamptz[], :aa_ended::timestamptz[],
        :aa_due::timestamptz[], :aa_detail::bytea[]) AS t(cmd, event, fence, nonce, granted_at, ended_at, due_at, detail) JOIN done USING (cmd)
)
--]
--[mm
, mm AS (
    INSERT INTO idemsvc.member (bucket, resource, epoch, value, event_bucket, event)
    SELECT get_byte(uuid_send(t.resource), 0), t.resource, t.epoch, t.value, get_byte(uuid_send(t.event), 0), t.event
    FROM unnest(:mm_cmd::bigint[], :mm_resource::uuid[], :mm_epoch::bigint[], :mm_value::bigint[], :mm_event::uuid[])
        AS t(cmd, resource, epoch, value, event) JOIN done USING (cmd)
    ORDER BY t.resource, t.epoch, t.value, t.event
    ON CONFLICT DO NOTHING
)
--]
, block AS (
    INSERT INTO idemsvc.journal (at, xid, epoch, heads, body, hash)
    SELECT m.at, x.xid, env.epoch, h.heads, :body,
        sha256(timestamptz_send(m.at) || int8send(x.xid) || int8send(env.epoch) || int4send(length(h.heads)) || h.heads || :body)
    FROM env, moment m, (SELECT string_agg(uuid_send(d.lead) || int8send(d.fence), '') AS heads FROM done d WHERE d.lead IS NOT NULL) h,
        LATERAL (SELECT pg_current_xact_id()::text::bigint + env.xid_base AS xid WHERE h.heads IS NOT NULL) x
)
-- What was locked must have been written: anything else breaks the transaction.
SELECT d.cmd, d.fence, m.at, (SELECT pg_current_xact_id()::text::bigint),
    1 / (CASE WHEN (SELECT sum(need) FROM done) = 0
--[ue
        + (SELECT count(*) FROM se)
--]
--[ur
        + (SELECT count(*) FROM sr)
--]
--[uf
        + (SELECT count(*) FROM sf)
--]
        THEN 1 ELSE 0 END) AS whole,
--[ue
    (SELECT se.lease_until FROM se WHERE se.cmd = d.cmd AND se.rises = 0)
--]
--[no ue
    NULL::timestamptz
--]
    AS extended
FROM moment m, done d
