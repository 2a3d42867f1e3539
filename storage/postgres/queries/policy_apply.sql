-- A new version of a namespace's policies, after the one that it was made from ($2). Of two
-- that were made from the same one, the second meets the first one's row and is none.
WITH made AS (
    INSERT INTO idemsvc.policy AS p (namespace, version, applied_at, applied_by, why, rules)
    SELECT $1, $2 + 1, clock_timestamp(), $3, $4, $5
    WHERE $2 = COALESCE((SELECT max(o.version) FROM idemsvc.policy o WHERE o.namespace = $1), 0)
    ON CONFLICT DO NOTHING
    RETURNING p.version, p.applied_at
), told AS (
    UPDATE idemsvc.policy_head h SET generation = h.generation + 1 FROM made RETURNING h.generation
)
SELECT made.version, made.applied_at FROM made
