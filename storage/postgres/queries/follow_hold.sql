-- Keeps the cursor of the reader behind the journal for one that has read and still writes, if
-- nobody else has moved it since: the statements after this one write only then, and others
-- leave the cursor to that reader for a while.
WITH mine AS MATERIALIZED (
    SELECT f.one FROM idemsvc.follower f WHERE f.snapshot::text = $1 FOR UPDATE SKIP LOCKED
)
UPDATE idemsvc.follower f SET held_at = clock_timestamp()
FROM mine WHERE f.one = mine.one
RETURNING set_config('idemsvc.follow', 'on', true)
