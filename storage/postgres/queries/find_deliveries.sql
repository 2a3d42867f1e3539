-- Later deliveries of events, the newest first; at most 200 each, beside how many there are.
SELECT d.event, d.identity, d.recorded_at, d.detail, d.n
FROM unnest($1::uuid[]) AS w(id), LATERAL (
    SELECT *, count(*) OVER () AS n FROM idemsvc.delivery d WHERE d.event = w.id ORDER BY d.recorded_at DESC LIMIT 200) d
