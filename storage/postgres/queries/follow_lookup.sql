-- What is to be found by value, in the order of the index.
INSERT INTO idemsvc.lookup (at, term, id)
SELECT t.at, t.term, t.id
FROM unnest($1::timestamptz[], $2::bigint[], $3::uuid[]) AS t(at, term, id)
WHERE current_setting('idemsvc.follow', true) = 'on'
