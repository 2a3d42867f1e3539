-- The versions of a namespace's policies, the newest first.
SELECT p.version, p.applied_at, p.applied_by, p.why FROM idemsvc.policy p
WHERE p.namespace = $1 AND ($2 = 0 OR p.version < $2)
ORDER BY p.version DESC LIMIT $3
