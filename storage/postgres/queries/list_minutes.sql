-- A page of what was first delivered in some minutes, each with its hash and its beginning
-- ($1, $2): in the order of IDs within each, of the first one what stands behind a place
-- ($3). The beginning tells the partition.
SELECT t.n, l.id
FROM unnest($1::bigint[], $2::timestamptz[]) WITH ORDINALITY AS t(term, at, n), LATERAL (
    SELECT l.id FROM idemsvc.lookup l
    WHERE l.term = t.term AND l.at >= t.at AND l.at < t.at + interval '1 minute' AND (t.n > 1 OR l.id > $3)
    ORDER BY l.id LIMIT $4) l
ORDER BY t.n, l.id LIMIT $4
