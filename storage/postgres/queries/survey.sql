-- How much is unfinished, for how long, and how much of it could have been claimed for longer
-- than its policy allows: received or due again, or its lease over and nobody to settle it.
--
-- $7 are the times that policies allow, the shortest first; $6 is how many of them must have
-- passed under a policy. Policies come from the most specific one on; what they do not name is
-- empty and stands for any, and the last one holds for everything. Events are counted before
-- they are compared with policies: by the sources and types that any policy names (all others
-- are alike), and by how many of the times have passed.
SELECT g.namespace, g.consumer, g.state, sum(g.events)::bigint,
    greatest(extract(epoch FROM statement_timestamp() - min(g.since)), 0)::float8,
    coalesce(sum(g.events) FILTER (WHERE g.passed > 0 AND g.passed >= (
        SELECT p.passes
        FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::integer[]) WITH ORDINALITY AS p(namespace, consumer, source, type, passes, n)
        WHERE (p.namespace = '' OR p.namespace = g.namespace) AND (p.consumer = '' OR p.consumer = g.consumer)
          AND (p.source = '' OR p.source = g.source) AND (p.type = '' OR p.type = g.type)
        ORDER BY p.n LIMIT 1)), 0)::bigint
FROM (
    SELECT u.namespace, u.consumer, u.state, count(*) AS events, min(u.since) AS since,
        CASE WHEN u.source = ANY ($4::text[]) THEN u.source END AS source, CASE WHEN u.type = ANY ($5::text[]) THEN u.type END AS type,
        CASE WHEN u.state IN (1, 2, 4) THEN width_bucket(statement_timestamp() - coalesce(u.due_at, u.since), $7::interval[]) ELSE 0 END AS passed
    FROM idemsvc.unfinished u
    GROUP BY u.namespace, u.consumer, u.state, 6, 7, 8) g
GROUP BY g.namespace, g.consumer, g.state
ORDER BY sum(g.events) DESC, g.namespace, g.consumer, g.state
LIMIT $1
