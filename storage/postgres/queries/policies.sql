-- The policies in force, and the generation that they are of.
SELECT h.generation, p.namespace, p.version, p.rules
FROM idemsvc.policy_head h LEFT JOIN (
    SELECT DISTINCT ON (p.namespace) p.namespace, p.version, p.rules FROM idemsvc.policy p ORDER BY p.namespace, p.version DESC) p ON true
