-- What operators list, decide and replay.

-- Claims whose lease seems to be over: found at once, however much other work is due.
CREATE INDEX unfinished_claims ON idemsvc.unfinished (due_at) WHERE state = 2;

-- Runs of replays, by the request ID of whoever asked for them: which events a run is
-- about, so that a repeat of the request is the same run.
CREATE TABLE idemsvc.replay_run (
    namespace  text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    request    bytea NOT NULL CHECK (length(request) = 16),
    events     uuid[] NOT NULL,
    PRIMARY KEY (namespace, request_id)
);
CREATE INDEX replay_run_created ON idemsvc.replay_run (created_at);
