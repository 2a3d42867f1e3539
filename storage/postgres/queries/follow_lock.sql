-- Elects the replica that takes the next step of the reader behind the journal. The lock is
-- a statement of its own: the step's snapshot must be newer than the lock.
SELECT set_config('idemsvc.follow', 'on', true) FROM (SELECT FROM idemsvc.follower FOR UPDATE SKIP LOCKED) f
