-- What one run of the storm leaves behind, in a schema of its own. Both handlers find the
-- same tables, none of which forbids to do something twice.

-- The business: a row for every event, and the latest state of every resource.
CREATE TABLE ledger (
    entry     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source    text COLLATE "C" NOT NULL,
    event     text COLLATE "C" NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    resource  text COLLATE "C" NOT NULL,
    version   bigint NOT NULL,
    payload   bytea NOT NULL,
    booked_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE resources (
    source     text COLLATE "C" NOT NULL,
    resource   text COLLATE "C" NOT NULL,
    version    bigint NOT NULL,
    state      text COLLATE "C" NOT NULL,
    lane_fence bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (source, resource)
);

-- The consumer's marker, written in the transaction that does the work. Only the handler
-- that asks idemsvc uses it. met counts later attempts that found it.
CREATE TABLE inbox (
    source text COLLATE "C" NOT NULL,
    event  text COLLATE "C" NOT NULL,
    met    bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (source, event)
);

-- The outside world: what was really mailed and charged, and the idempotency keys that
-- came with it. met counts requests whose key was known.
CREATE TABLE emails (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source text COLLATE "C" NOT NULL,
    event  text COLLATE "C" NOT NULL
);

CREATE TABLE charges (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source text COLLATE "C" NOT NULL,
    event  text COLLATE "C" NOT NULL
);

CREATE TABLE outside_keys (
    key text COLLATE "C" PRIMARY KEY,
    met bigint NOT NULL DEFAULT 0
);

-- The provider's own books: what happened, and what it was answered. Status 0: nothing.
CREATE TABLE sent (
    source   text COLLATE "C" NOT NULL,
    event    text COLLATE "C" NOT NULL,
    resource text COLLATE "C" NOT NULL,
    version  bigint NOT NULL,
    PRIMARY KEY (source, event)
);

CREATE TABLE deliveries (
    source text COLLATE "C" NOT NULL,
    event  text COLLATE "C" NOT NULL,
    status integer NOT NULL
);
