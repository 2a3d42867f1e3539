-- The same for side effects.
INSERT INTO idemsvc.effect (bucket, id, namespace, scope, consumer, key_event, key, version)
SELECT t.bucket, t.id, t.namespace, t.scope, t.consumer, t.key_event, t.key, 0
FROM unnest($1::smallint[], $2::uuid[], $3::text[], $4::smallint[], $5::text[], $6::uuid[], $7::text[])
    AS t(bucket, id, namespace, scope, consumer, key_event, key)
ORDER BY t.bucket, t.id
ON CONFLICT DO NOTHING
