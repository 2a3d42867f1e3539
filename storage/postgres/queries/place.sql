-- An empty resource record means the same as none: it is made beforehand, so that the
-- transition itself can lock it like any other row.
INSERT INTO idemsvc.resource (bucket, id, namespace, consumer, type, name, version)
SELECT t.bucket, t.id, t.namespace, t.consumer, t.type, t.name, 0
FROM unnest($1::smallint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[]) AS t(bucket, id, namespace, consumer, type, name)
ORDER BY t.bucket, t.id
ON CONFLICT DO NOTHING
