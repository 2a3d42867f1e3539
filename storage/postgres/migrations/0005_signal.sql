-- Of a resource that is ordered by signals: the fence of the last grant that was completed,
-- which carried all that had arrived before it, and the event that it was a grant of.
ALTER TABLE idemsvc.resource
    ADD COLUMN covered    bigint NOT NULL DEFAULT 0,
    ADD COLUMN covered_by uuid;
