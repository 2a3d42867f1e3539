-- What the storm has done, by the tables alone.
WITH booked AS (
    SELECT source, event, count(*) AS n FROM ledger GROUP BY source, event
), mailed AS (
    SELECT source, event, count(*) AS n FROM emails GROUP BY source, event
), charged AS (
    SELECT source, event, count(*) AS n FROM charges GROUP BY source, event
), newest AS (
    SELECT source, resource, max(version) AS version FROM ledger GROUP BY source, resource
)
SELECT
    (SELECT count(*) FROM sent) AS events,
    (SELECT count(*) FROM deliveries) AS deliveries,
    (SELECT coalesce(sum(n - 1), 0)::bigint FROM booked) AS rows_doubled,
    -- Every event is to be booked and mailed, the first about a resource charged, too.
    (SELECT count(*) FROM sent AS s
        LEFT JOIN booked AS b USING (source, event)
        LEFT JOIN mailed AS m USING (source, event)
        LEFT JOIN charged AS c USING (source, event)
        WHERE b.n IS NULL OR m.n IS NULL OR (s.version = 1 AND c.n IS NULL)) AS lost,
    -- The newest state was written, as the ledger shows, and is not there any more.
    (SELECT count(*) FROM newest AS n LEFT JOIN resources AS r USING (source, resource)
        WHERE r.version IS DISTINCT FROM n.version) AS stale_overwritten,
    (SELECT coalesce(sum(n - 1), 0)::bigint FROM (SELECT n FROM mailed UNION ALL SELECT n FROM charged) AS e) AS effects_twice,
    (SELECT count(*) FROM inbox WHERE met > 0) AS markers_met,
    (SELECT count(*) FROM outside_keys WHERE met > 0) AS keys_met
