-- First claims that touch nothing but their own event: inserted where no record exists,
-- the fence drawn in the same statement. A key that is known already comes back with its
-- record, and costs neither a fence nor a transaction ID; one that somebody else inserts in
-- this very moment comes back with neither.
WITH env AS MATERIALIZED (
    SELECT x.epoch, x.epoch << 41 AS base, clock_timestamp() AS at
    FROM (SELECT NULLIF(current_setting('idemsvc.epoch'), '')::bigint AS epoch) x WHERE x.epoch IS NOT NULL
), want AS MATERIALIZED (
    SELECT * FROM unnest($1::smallint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[], $8::uuid[],
                         $9::bigint[], $10::bytea[], $11::integer[], $12::text[], $13::bytea[])
        AS t(bucket, id, namespace, consumer, source, event_id, facts, nonce, lease_us, detail, policy, terms, body)
), known AS MATERIALIZED (
    SELECT e.* FROM want w, LATERAL (SELECT * FROM idemsvc.event e WHERE e.bucket = w.bucket AND e.id = w.id OFFSET 0) e
), won AS (
    INSERT INTO idemsvc.event AS e (bucket, id, created_at, namespace, consumer, source, event_id, facts, version, fence, nonce,
        lease_until, lease_us, granted_at, total, effects, state, by_expiry, detail)
    SELECT w.bucket, w.id, env.at, w.namespace, w.consumer, w.source, w.event_id, w.facts, 1, env.base + nextval('idemsvc.fence'), w.nonce,
        env.at + w.lease_us * interval '1 microsecond', w.lease_us, env.at, 1, 0, 2, false, w.detail
    FROM env, want w
    WHERE NOT EXISTS (SELECT FROM known k WHERE k.id = w.id)
    ORDER BY w.bucket, w.id
    ON CONFLICT DO NOTHING
    RETURNING e.id, e.fence, e.lease_until
), logged AS (
    INSERT INTO idemsvc.journal AS j (at, xid, id, seq, fence, epoch, due_at, policy, subject, kind, state, terms, body, hash)
    SELECT env.at, pg_current_xact_id()::text::bigint + current_setting('idemsvc.xid_base')::bigint, w.id, 1, won.fence, env.epoch,
        won.lease_until, w.policy, 1, 1, 2, NULLIF(w.terms, ''), w.body,
        sha256(uuid_send(w.id) || int8send(1) || int8send(won.fence) || int8send(env.epoch) || timestamptz_send(env.at)
            || int4send(w.policy) || '\x0001000100020000'::bytea || w.body)
    FROM env, won JOIN want w USING (id)
    RETURNING j.id, j.fence, j.at
)
SELECT w.id, l.fence, l.at, {event}
FROM want w LEFT JOIN logged l USING (id) LEFT JOIN known e USING (id)
