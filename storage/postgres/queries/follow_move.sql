-- Moves the cursor of the reader behind the journal, if nobody else has moved it since it
-- was read: the statements after this one write only then.
WITH mine AS MATERIALIZED (
    SELECT f.one FROM idemsvc.follower f WHERE f.snapshot::text = $1 FOR UPDATE SKIP LOCKED
)
UPDATE idemsvc.follower f SET snapshot = $2::text::pg_snapshot, read_at = clock_timestamp()
FROM mine WHERE f.one = mine.one
RETURNING set_config('idemsvc.follow', 'on', true)
