-- How much is unfinished, for how long, and how much of it could have been claimed for a
-- quarter of an hour: received or due again, or its lease over and nobody to settle it.
SELECT u.namespace, u.consumer, u.state, count(*),
    greatest(extract(epoch FROM statement_timestamp() - min(u.since)), 0)::float8,
    count(*) FILTER (WHERE u.state IN (1, 2, 4) AND coalesce(u.due_at, u.since) < statement_timestamp() - interval '15 minutes')
FROM idemsvc.unfinished u
GROUP BY u.namespace, u.consumer, u.state
ORDER BY count(*) DESC, u.namespace, u.consumer, u.state
LIMIT $1
