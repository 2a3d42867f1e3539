-- Of the events about each of these resources, the next one is offered and no other: the
-- first by rank of those that are ready, unless a claim is live. It keeps the place in time of
-- the one that was offered before it, so that a resource with much news is not put off for
-- ever. Where something has happened that others may have waited for («freed»), it does not
-- matter that they were tried in vain before, now or when others are tried later.
WITH l AS MATERIALIZED (
    SELECT t.lane, bool_or(t.freed) AS freed FROM unnest($1::uuid[], $2::boolean[]) AS t(lane, freed)
    WHERE current_setting('idemsvc.follow', true) = 'on' GROUP BY t.lane
), was AS MATERIALIZED (
    SELECT l.lane, u.bucket, u.id, u.acquire_at FROM l, LATERAL (
        SELECT u.bucket, u.id, u.acquire_at FROM idemsvc.unfinished u WHERE u.lane = l.lane AND u.acquire_at IS NOT NULL OFFSET 0) u
), head AS MATERIALIZED (
    SELECT l.lane, l.freed, h.bucket, h.id, h.at FROM l, LATERAL (
        SELECT u.bucket, u.id, CASE WHEN l.freed THEN u.ready_at ELSE greatest(u.ready_at, u.blocked_until) END AS at, u.rank_epoch, u.rank_value
        FROM (
            SELECT u.* FROM idemsvc.unfinished u
            WHERE u.lane = l.lane AND u.ready_at IS NOT NULL ORDER BY u.rank_epoch, u.rank_value, u.id LIMIT 16) u
        ORDER BY greatest(u.ready_at, CASE WHEN NOT l.freed THEN u.blocked_until END, statement_timestamp()), u.rank_epoch, u.rank_value, u.id LIMIT 1) h
    WHERE NOT EXISTS (SELECT FROM idemsvc.unfinished p WHERE p.lane = l.lane AND p.state = 2)
)
UPDATE idemsvc.unfinished u SET acquire_at = n.at, taken_until = NULL, blocked_until = CASE WHEN NOT n.freed THEN u.blocked_until END
FROM (
    SELECT h.freed, h.bucket, h.id, CASE WHEN h.at > statement_timestamp() THEN h.at ELSE least(h.at, (SELECT min(w.acquire_at) FROM was w WHERE w.lane = h.lane)) END AS at
    FROM head h
    UNION ALL
    SELECT false, w.bucket, w.id, NULL FROM was w WHERE NOT EXISTS (SELECT FROM head h WHERE h.id = w.id)
) n
WHERE u.bucket = n.bucket AND u.id = n.id
