-- Who looks for what is past its retention: whoever did, or anybody where that one has not
-- been heard of for a while. A row that somebody has locked is left to him.
WITH mine AS MATERIALIZED (
    SELECT r.one FROM idemsvc.retention r
    WHERE r.holder = $1 OR r.lease_until < clock_timestamp() FOR UPDATE SKIP LOCKED
)
UPDATE idemsvc.retention r SET holder = $1, lease_until = clock_timestamp() + interval '1 minute'
FROM mine WHERE r.one = mine.one
RETURNING r.place, r.block, r.passed_at, clock_timestamp()
