-- When events that were taken, and not granted, are offered again: after so many microseconds,
-- 0 for at once. What somebody has locked gets its time from him. What is not as it was taken
-- is not put off: something may have happened since that it was waiting for.
WITH mine AS MATERIALIZED (
    SELECT u.bucket, u.id, t.pause FROM unnest($1::uuid[], $2::bigint[]) AS t(id, pause), LATERAL (
        SELECT u.bucket, u.id FROM idemsvc.unfinished u
        WHERE u.bucket = get_byte(uuid_send(t.id), 0)::smallint AND u.id = t.id AND u.acquire_at IS NOT NULL
            AND (t.pause = 0 OR u.taken_until IS NOT NULL)
        OFFSET 0 FOR UPDATE SKIP LOCKED) u
)
UPDATE idemsvc.unfinished u SET
    acquire_at = clock_timestamp() + m.pause * interval '1 microsecond', taken_until = NULL,
    blocked_until = CASE WHEN m.pause > 0 THEN clock_timestamp() + m.pause * interval '1 microsecond' END
FROM mine m WHERE u.bucket = m.bucket AND u.id = m.id
