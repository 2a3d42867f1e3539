-- A version of a namespace's policies, or the one in force for none ($2 = 0).
SELECT p.version, p.applied_at, p.applied_by, p.why, p.rules FROM idemsvc.policy p
WHERE p.namespace = $1 AND ($2 = 0 OR p.version = $2)
ORDER BY p.version DESC LIMIT 1
