-- Acquiring: which unfinished event could be granted now, in the order of its time.
--
-- ready_at is when the event may be granted as far as it alone is concerned, empty where it
-- may not (a claim is live, a person decides). acquire_at is when it is offered to workers:
-- of events that are ordered about one resource (lane) only one is, the next in the order of
-- the ranks. blocked_until is set when it was tried and something was in its way.
ALTER TABLE idemsvc.unfinished
    ADD COLUMN ready_at      timestamptz,
    ADD COLUMN acquire_at    timestamptz,
    ADD COLUMN blocked_until timestamptz,
    ADD COLUMN lane          uuid,
    ADD COLUMN rank_epoch    bigint,
    ADD COLUMN rank_value    bigint;

-- What was listed before is offered without its order, which is checked at the grant.
UPDATE idemsvc.unfinished SET ready_at = due_at, acquire_at = due_at WHERE state IN (1, 4);

CREATE INDEX unfinished_acquire ON idemsvc.unfinished (namespace, consumer, acquire_at) WHERE acquire_at IS NOT NULL;
CREATE INDEX unfinished_ready ON idemsvc.unfinished (lane, rank_epoch, rank_value, id) WHERE lane IS NOT NULL AND ready_at IS NOT NULL;
CREATE INDEX unfinished_offered ON idemsvc.unfinished (lane) WHERE lane IS NOT NULL AND acquire_at IS NOT NULL;
CREATE INDEX unfinished_busy ON idemsvc.unfinished (lane) WHERE lane IS NOT NULL AND state = 2;

-- What calls of AcquireEvents were granted, so that a repeat gets it again. Insert-only, and
-- forgotten after a quarter of an hour.
CREATE TABLE idemsvc.acquired (
    id     uuid NOT NULL,
    at     timestamptz NOT NULL,
    events uuid[] NOT NULL
);
CREATE INDEX acquired_id ON idemsvc.acquired (id);
CREATE INDEX acquired_at ON idemsvc.acquired (at);
