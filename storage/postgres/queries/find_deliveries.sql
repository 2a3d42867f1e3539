-- Later deliveries of events, the newest last; at most 200 each.
SELECT d.event, d.identity, d.recorded_at, d.detail
FROM unnest($1::uuid[]) AS w(id), LATERAL (
    SELECT * FROM idemsvc.delivery d WHERE d.event = w.id ORDER BY d.recorded_at LIMIT 200) d
