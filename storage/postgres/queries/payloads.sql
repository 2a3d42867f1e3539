-- The stored payloads of events: of each the first that came. The partitions that are made
-- ahead are not looked through.
SELECT w.ref, p.payload
FROM unnest($1::uuid[]) AS w(ref), LATERAL (
    SELECT p.payload FROM idemsvc.payload p WHERE p.ref = w.ref AND p.received_at < statement_timestamp() + interval '1 day' ORDER BY p.received_at LIMIT 1) p
