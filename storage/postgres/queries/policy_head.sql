-- Has any policy changed? Asked by every replica, several times a second.
SELECT h.generation FROM idemsvc.policy_head h
