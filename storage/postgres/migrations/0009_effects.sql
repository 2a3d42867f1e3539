-- Side effects are written as what they are, and no longer placed empty first: what a lost race
-- has left of that is removed.
DELETE FROM idemsvc.effect WHERE version = 0;
