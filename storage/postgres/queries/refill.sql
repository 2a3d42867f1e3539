-- The blocks that the reader behind the journal may not have read before the database
-- moved to another cluster.
DECLARE idemsvc_refill NO SCROLL CURSOR FOR
SELECT j.at, j.heads, j.body FROM idemsvc.journal j
WHERE j.at >= (SELECT f.read_at - interval '1 hour' FROM idemsvc.follower f)
