-- A run of replays, if there is none of its request yet. Each new one takes a few with it
-- that nobody will ask about any more.
WITH old AS (
    DELETE FROM idemsvc.replay_run r USING (
        SELECT r.namespace, r.request_id FROM idemsvc.replay_run r
        WHERE r.created_at < clock_timestamp() - interval '35 days' ORDER BY r.created_at LIMIT 20 FOR UPDATE SKIP LOCKED) o
    WHERE r.namespace = o.namespace AND r.request_id = o.request_id
)
INSERT INTO idemsvc.replay_run (namespace, request_id, request, events, received, next_at, next_id) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT DO NOTHING
