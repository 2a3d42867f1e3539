-- A page of a namespace's unfinished work: of each state asked for ($1), what stands behind
-- a place ($3, $4), by the time since when it is in its state. Claims whose lease is over
-- come along where what that makes of them may be asked for ($6). Only the narrow list is
-- read; the records are read by their IDs.
SELECT u.since, u.id
FROM (
    SELECT u.id, u.since FROM unnest($1::smallint[]) AS s(state), LATERAL (
        SELECT u.id, u.since FROM idemsvc.unfinished u
        WHERE u.state = s.state AND u.namespace = $2 {filter} AND (u.since, u.id) > ($3, $4) ORDER BY u.since, u.id LIMIT $5) u
    UNION
    SELECT u.id, u.since FROM (
        SELECT u.id, u.since FROM idemsvc.unfinished u
        WHERE $6 AND u.state = 2 AND u.due_at <= statement_timestamp() AND u.namespace = $2 {filter} AND (u.since, u.id) > ($3, $4)
        ORDER BY u.since, u.id LIMIT $5) u) u
ORDER BY u.since, u.id LIMIT $5
