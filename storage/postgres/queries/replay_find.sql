-- The run of replays that a request has begun.
SELECT r.request, r.events, r.received, r.next_at, r.next_id FROM idemsvc.replay_run r WHERE r.namespace = $1 AND r.request_id = $2
