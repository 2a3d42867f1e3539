-- Tells replicas of which consumers something may have become due: of the events that have just
-- been listed ($1), and of those that are offered of resources ($2). Names are told by their
-- hashes; nothing means all.
SELECT pg_notify('idemsvc_due', CASE WHEN length(g.list) < 7900 THEN g.list ELSE '' END)
FROM (
    SELECT string_agg(DISTINCT encode(substr(sha256(convert_to(u.namespace || E'\x1f' || u.consumer, 'UTF8')), 1, 8), 'hex'), ' ') AS list
    FROM (
        SELECT u.namespace, u.consumer, u.acquire_at FROM unnest($1::uuid[]) AS t(id), LATERAL (
            SELECT * FROM idemsvc.unfinished u WHERE u.bucket = get_byte(uuid_send(t.id), 0)::smallint AND u.id = t.id OFFSET 0) u
        UNION ALL
        SELECT u.namespace, u.consumer, u.acquire_at FROM unnest($2::uuid[]) AS l(lane), LATERAL (
            SELECT * FROM idemsvc.unfinished u WHERE u.lane = l.lane AND u.acquire_at IS NOT NULL LIMIT 1) u
        ) u
    WHERE u.acquire_at <= clock_timestamp() AND current_setting('idemsvc.follow', true) = 'on'
) g
WHERE g.list IS NOT NULL
