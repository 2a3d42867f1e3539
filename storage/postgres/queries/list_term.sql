-- A page of what is to be found by the hash of a value, behind a place ($2), in the order
-- of IDs. The value itself is compared by the caller.
SELECT DISTINCT l.id
FROM (SELECT l.id FROM idemsvc.lookup l WHERE l.term = $1 AND l.id > $2 ORDER BY l.id LIMIT $3) l
ORDER BY l.id
