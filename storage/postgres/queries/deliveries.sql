-- Records of deliveries that decided nothing; the same call again is the same delivery.
INSERT INTO idemsvc.delivery (recorded_at, event, identity, detail)
SELECT clock_timestamp(), t.event, t.identity, t.detail
FROM (SELECT DISTINCT ON (event, identity) * FROM unnest($1::uuid[], $2::uuid[], $3::bytea[]) AS t(event, identity, detail)) t
WHERE NOT EXISTS (SELECT FROM idemsvc.delivery d WHERE d.event = t.event AND d.identity = t.identity)
ON CONFLICT DO NOTHING
