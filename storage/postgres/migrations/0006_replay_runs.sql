-- What else a run's first request was told: how many events its search has passed over
-- because the consumer had them, and where another run goes on (empty: nowhere).
ALTER TABLE idemsvc.replay_run
    ADD COLUMN received integer NOT NULL DEFAULT 0,
    ADD COLUMN next_at  timestamptz,
    ADD COLUMN next_id  uuid;
