-- Sources of which a verified delivery is seen for the first time.
INSERT INTO idemsvc.source (namespace, source)
SELECT t.namespace, t.source FROM unnest($1::text[], $2::text[]) AS t(namespace, source)
ORDER BY t.namespace, t.source
ON CONFLICT DO NOTHING
