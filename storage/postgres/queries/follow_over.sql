-- What is over for good leaves the list of unfinished work.
DELETE FROM idemsvc.unfinished u
USING unnest($1::uuid[], $2::bigint[]) AS t(id, seq)
WHERE u.bucket = get_byte(uuid_send(t.id), 0)::smallint AND u.id = t.id AND u.seq < t.seq
  AND current_setting('idemsvc.follow', true) = 'on'
