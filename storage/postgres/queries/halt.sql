-- A valid token carries a fence that this database has not drawn: it is an older copy of
-- itself. Nothing is granted until an operator begins a new epoch.
UPDATE idemsvc.meta m SET halted = true
WHERE m.timeline = idemsvc.timeline() AND NOT m.halted
  AND $1 > (m.epoch << 41) + (SELECT f.last_value FROM idemsvc.fence f)
RETURNING m.epoch
