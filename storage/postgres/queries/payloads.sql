-- The stored payloads of events: of each the first that came.
SELECT w.ref, p.payload
FROM unnest($1::uuid[]) AS w(ref), LATERAL (
    SELECT p.payload FROM idemsvc.payload p WHERE p.ref = w.ref ORDER BY p.received_at LIMIT 1) p
