-- Recorded versions of sequential resources up to the command's own: from the expected one,
-- or from the lowest where nothing has been applied in that epoch; at most 1000 each.
SELECT m.resource, m.epoch, m.value, m.event, {event_opt}
FROM unnest($1::smallint[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[]) AS w(bucket, resource, epoch, own, start), LATERAL (
    SELECT least(w.own, COALESCE((SELECT r.value + 1 FROM idemsvc.resource r
        WHERE r.bucket = w.bucket AND r.id = w.resource AND r.applied AND r.epoch = w.epoch), CASE WHEN w.start <> 0 AND NOT EXISTS (SELECT FROM idemsvc.resource r
            WHERE r.bucket = w.bucket AND r.id = w.resource AND r.applied) THEN w.start END, -9223372036854775808)) AS low OFFSET 0) x, LATERAL (
    SELECT * FROM idemsvc.member m WHERE m.bucket = w.bucket AND m.resource = w.resource AND m.epoch = w.epoch AND m.value BETWEEN x.low AND w.own
    ORDER BY m.value, m.event LIMIT 1000) m LEFT JOIN LATERAL (
    SELECT * FROM idemsvc.event e WHERE e.bucket = m.event_bucket AND e.id = m.event OFFSET 0) e ON true
ORDER BY m.resource, m.value, m.event
