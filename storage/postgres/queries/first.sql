-- First claims that touch nothing but their own event: inserted where no record exists,
-- the fence drawn in the same statement. The rows come in the order of their keys, and
-- are inserted in it. One whose key is known already comes back not at all, and is read.
WITH env AS MATERIALIZED (
    SELECT m.epoch, m.epoch << 41 AS base, m.epoch_started_at, m.xid_base, clock_timestamp() AS at
    FROM idemsvc.meta m
    WHERE NOT m.halted AND m.timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
      AND COALESCE(current_setting('idemsvc.foreign', true), '') <> 'on'
), won AS (
    INSERT INTO idemsvc.event AS e (bucket, id, created_at, namespace, consumer, source, event_id, facts, version, fence, nonce,
        lease_until, lease_us, granted_at, total, effects, state, by_expiry, detail)
    SELECT get_byte(uuid_send(w.id), 0), w.id, env.at, w.namespace, w.consumer, w.source, w.event_id, w.facts, 1,
        env.base + nextval('idemsvc.fence'), w.nonce, env.at + w.lease_us * interval '1 microsecond', w.lease_us, env.at, 1, 0, 2, false, w.detail
    FROM env, unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[], $7::uuid[], $8::bigint[], $9::bytea[])
        AS w(id, namespace, consumer, source, event_id, facts, nonce, lease_us, detail)
    ON CONFLICT DO NOTHING
    RETURNING e.id, e.fence
), block AS (
    INSERT INTO idemsvc.journal AS j (at, xid, epoch, heads, body, hash)
    SELECT env.at, x.xid, env.epoch, h.heads, $10,
        sha256(timestamptz_send(env.at) || int8send(x.xid) || int8send(env.epoch) || int4send(length(h.heads)) || h.heads || $10)
    FROM env, (SELECT string_agg(uuid_send(won.id) || int8send(won.fence), '') AS heads FROM won) h,
        LATERAL (SELECT pg_current_xact_id()::text::bigint + env.xid_base AS xid WHERE h.heads IS NOT NULL) x
    RETURNING j.at
)
SELECT won.id, won.fence, block.at, (SELECT pg_current_xact_id()::text::bigint) FROM block, won
