-- Removes payloads of events whose policy keeps them shorter than the partition that they
-- are in, where no consumer of the event has yet to finish it.
WITH gone AS (
    DELETE FROM idemsvc.payload p USING unnest($1::uuid[]) AS t(ref)
    WHERE p.ref = t.ref AND NOT EXISTS (
        SELECT FROM idemsvc.event e
        WHERE e.bucket = get_byte(uuid_send(t.ref), 0)::smallint
          AND e.id >= encode(substr(uuid_send(t.ref), 1, 8) || '\x0000000000000000', 'hex')::uuid
          AND e.id <= encode(substr(uuid_send(t.ref), 1, 8) || '\xffffffffffffffff', 'hex')::uuid
          AND e.state NOT IN (3, 7, 10))
    RETURNING 1
)
SELECT count(*) FROM gone
