-- Earlier attempts of events, the newest first; at most 200 each.
SELECT a.event, a.fence, a.nonce, a.granted_at, a.ended_at, a.due_at, a.detail
FROM unnest($1::smallint[], $2::uuid[]) AS w(bucket, id), LATERAL (
    SELECT * FROM idemsvc.attempt a WHERE a.bucket = w.bucket AND a.event = w.id ORDER BY a.fence DESC LIMIT 200) a
