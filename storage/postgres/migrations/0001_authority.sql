-- The authority's tables. All keys are compared byte for byte: every text column is
-- COLLATE "C". Row IDs are 16 bytes of a SHA-256 over the length-prefixed key parts;
-- the parts stay in the row and are compared on every hit.

CREATE SCHEMA IF NOT EXISTS idemsvc;

-- One row: which epoch of fences this database is in, and on which cluster and timeline
-- that was established. A grant is made only where both still hold.
CREATE TABLE idemsvc.meta (
    one               boolean PRIMARY KEY DEFAULT true CHECK (one),
    epoch             bigint NOT NULL CHECK (epoch > 0 AND epoch < 4194304),
    epoch_started_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    system_identifier bigint NOT NULL,
    timeline          text COLLATE "C" NOT NULL,
    halted            boolean NOT NULL DEFAULT false,
    xid_base          bigint NOT NULL DEFAULT 0
);

-- The key that seals claim tokens. Apart from meta, so that readers cannot see it.
CREATE TABLE idemsvc.secret (
    one   boolean PRIMARY KEY DEFAULT true CHECK (one),
    token bytea NOT NULL CHECK (length(token) = 32)
);

-- Fences come from here and are drawn inside the granting statement, after its locks:
-- no cache, no blocks, so that their order is the order of the grants.
CREATE SEQUENCE idemsvc.fence AS bigint MINVALUE 1 MAXVALUE 2199023255551 CACHE 1 NO CYCLE;

-- The record of an event key. What never changes comes first: an update then logs only
-- the rest. detail holds what only the service reads, in the canonical encoding of
-- internal/tlv. fillfactor 45 leaves room for a second version of each row, which is a
-- little larger: nearly all updates are HOT, and no column that changes is indexed. One
-- constraint instead of many: each is parsed anew by every statement that writes.
CREATE TABLE idemsvc.event (
    bucket         smallint NOT NULL,
    id             uuid NOT NULL,
    created_at     timestamptz NOT NULL,
    namespace      text COLLATE "C" NOT NULL,
    consumer       text COLLATE "C" NOT NULL,
    source         text COLLATE "C" NOT NULL,
    event_id       text COLLATE "C" NOT NULL,
    facts          bytea NOT NULL,
    version        bigint NOT NULL,
    fence          bigint NOT NULL,
    nonce          uuid,
    lease_until    timestamptz,
    lease_us       bigint NOT NULL,
    granted_at     timestamptz,
    ended_at       timestamptz,
    due_at         timestamptz,
    waiting_since  timestamptz,
    not_yet_since  timestamptz,
    total          integer NOT NULL,
    effects        integer NOT NULL,
    state          smallint NOT NULL,
    by_expiry      boolean NOT NULL,
    lanes          text COLLATE "C",
    detail         bytea NOT NULL,
    result         bytea,
    PRIMARY KEY (bucket, id),
    CONSTRAINT event_sound CHECK (version > 0 AND fence >= 0 AND total >= 0 AND effects >= 0 AND state BETWEEN 1 AND 10
        AND (state <> 2 OR (nonce IS NOT NULL AND lease_until IS NOT NULL AND fence > 0)))
) WITH (fillfactor = 45, toast_tuple_target = 1024,
        autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1,
        autovacuum_analyze_scale_factor = 0.05);
ALTER TABLE idemsvc.event ALTER COLUMN result SET STORAGE EXTERNAL;

-- A grant that was followed by another one. The last grant is in the event's own row.
CREATE TABLE idemsvc.attempt (
    bucket     smallint NOT NULL,
    event      uuid NOT NULL,
    fence      bigint NOT NULL,
    nonce      uuid NOT NULL,
    granted_at timestamptz,
    ended_at   timestamptz,
    due_at     timestamptz,
    detail     bytea NOT NULL,
    PRIMARY KEY (bucket, event, fence)
);

-- The ordering state of a resource, for one consumer. The owner's names outlive the
-- lane until it is given on.
CREATE TABLE idemsvc.resource (
    bucket      smallint NOT NULL,
    id          uuid NOT NULL,
    namespace   text COLLATE "C" NOT NULL,
    consumer    text COLLATE "C" NOT NULL,
    type        text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    version     bigint NOT NULL CHECK (version >= 0),
    kind        smallint NOT NULL DEFAULT 0,
    mode        smallint NOT NULL DEFAULT 0,
    owned       boolean NOT NULL DEFAULT false,
    applied     boolean NOT NULL DEFAULT false,
    epoch       bigint NOT NULL DEFAULT 0,
    value       bigint NOT NULL DEFAULT 0,
    start       bigint NOT NULL DEFAULT 0,
    owner       uuid,
    owner_fence bigint NOT NULL DEFAULT 0,
    lane_fence  bigint NOT NULL DEFAULT 0,
    applied_by  uuid,
    gap_since   timestamptz,
    machine     text COLLATE "C",
    state       text COLLATE "C",
    print       bytea,
    PRIMARY KEY (bucket, id),
    CONSTRAINT resource_lane CHECK (NOT owned OR (owner IS NOT NULL AND owner_fence > 0 AND lane_fence >= owner_fence))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- Which event carries which version of a sequential resource.
CREATE TABLE idemsvc.member (
    bucket       smallint NOT NULL,
    resource     uuid NOT NULL,
    epoch        bigint NOT NULL,
    value        bigint NOT NULL,
    event_bucket smallint NOT NULL,
    event        uuid NOT NULL,
    PRIMARY KEY (bucket, resource, epoch, value, event)
);

-- The ledger of side effects.
CREATE TABLE idemsvc.effect (
    bucket      smallint NOT NULL,
    id          uuid NOT NULL,
    namespace   text COLLATE "C" NOT NULL,
    scope       smallint NOT NULL CHECK (scope BETWEEN 1 AND 3),
    consumer    text COLLATE "C" NOT NULL,
    key_event   uuid,
    key         text COLLATE "C" NOT NULL,
    version     bigint NOT NULL CHECK (version >= 0),
    state       smallint NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 4),
    event       uuid,
    fence       bigint NOT NULL DEFAULT 0,
    lease_until timestamptz,
    since       timestamptz NOT NULL DEFAULT clock_timestamp(),
    bytes       integer NOT NULL DEFAULT 0,
    detail      bytea,
    result      bytea,
    PRIMARY KEY (bucket, id)
) WITH (fillfactor = 60);
ALTER TABLE idemsvc.effect ALTER COLUMN result SET STORAGE EXTERNAL;
CREATE INDEX effect_event ON idemsvc.effect (event) WHERE event IS NOT NULL;

-- Sources of which a verified delivery has been seen: unchecked ones are refused then.
CREATE TABLE idemsvc.source (
    namespace   text COLLATE "C" NOT NULL,
    source      text COLLATE "C" NOT NULL,
    verified_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (namespace, source)
);

-- Raw payloads, insert-only and apart from the hot row.
CREATE TABLE idemsvc.payload (
    received_at timestamptz NOT NULL,
    ref         uuid NOT NULL,
    hash        bytea NOT NULL,
    payload     bytea NOT NULL
) PARTITION BY RANGE (received_at);
CREATE INDEX payload_ref ON idemsvc.payload (ref);

-- Deliveries that decided nothing, written just after their answer. The first delivery
-- of an event is in its record's facts.
CREATE TABLE idemsvc.delivery (
    recorded_at timestamptz NOT NULL,
    event       uuid NOT NULL,
    identity    uuid NOT NULL,
    detail      bytea NOT NULL
) PARTITION BY RANGE (recorded_at);

-- How many deliveries failed their signature, and how many of them were kept.
CREATE TABLE idemsvc.rejected (
    namespace text COLLATE "C" NOT NULL,
    source    text COLLATE "C" NOT NULL,
    minute    timestamptz NOT NULL,
    total     bigint NOT NULL,
    PRIMARY KEY (namespace, source, minute)
);

-- The journal: append-only, in the transition's own transaction. A row is a block: the
-- entries of all commands that one statement wrote. body holds them in canonical bytes, as
-- they were before it was known which commands would succeed; heads names those that did: 24
-- bytes for each, the ID of its first entry and the fence of its record. hash covers all
-- columns, so that alteration is detectable. xid counts on over a move to another cluster
-- (meta.xid_base). The index follows the order of writing and serves the reader behind.
CREATE TABLE idemsvc.journal (
    at    timestamptz NOT NULL,
    xid   bigint NOT NULL,
    epoch bigint NOT NULL,
    heads bytea NOT NULL,
    body  bytea NOT NULL,
    hash  bytea NOT NULL
) PARTITION BY RANGE (at);
ALTER TABLE idemsvc.journal ALTER COLUMN heads SET STORAGE EXTERNAL, ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX journal_xid ON idemsvc.journal (xid);

-- Found by value: filled just behind the journal.
CREATE TABLE idemsvc.lookup (
    at   timestamptz NOT NULL,
    term bigint NOT NULL,
    id   uuid NOT NULL
) PARTITION BY RANGE (at);
CREATE INDEX lookup_term ON idemsvc.lookup (term, id);

-- Unfinished work, filled just behind the journal: what begins and ends within one step
-- of the reader never comes here.
CREATE TABLE idemsvc.unfinished (
    bucket    smallint NOT NULL,
    id        uuid NOT NULL,
    seq       bigint NOT NULL,
    state     smallint NOT NULL,
    since     timestamptz NOT NULL,
    due_at    timestamptz,
    namespace text COLLATE "C" NOT NULL,
    consumer  text COLLATE "C" NOT NULL,
    PRIMARY KEY (bucket, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX unfinished_due ON idemsvc.unfinished (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX unfinished_state ON idemsvc.unfinished (state, since, id);
CREATE INDEX unfinished_namespace ON idemsvc.unfinished (namespace, state, since, id);
CREATE INDEX unfinished_consumer ON idemsvc.unfinished (namespace, consumer, state, since, id);

-- How far the reader behind the journal has come: the snapshot that it has read.
CREATE TABLE idemsvc.follower (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    snapshot pg_snapshot NOT NULL,
    read_at  timestamptz NOT NULL
);

-- Daily partitions from today to some days ahead, with a default partition behind. The
-- runtime role has no DDL, so the function runs as its owner.
CREATE TABLE idemsvc.payload_default PARTITION OF idemsvc.payload DEFAULT;
CREATE TABLE idemsvc.delivery_default PARTITION OF idemsvc.delivery DEFAULT;
CREATE UNIQUE INDEX ON idemsvc.delivery_default (event, identity);
CREATE TABLE idemsvc.journal_default PARTITION OF idemsvc.journal DEFAULT;
CREATE TABLE idemsvc.lookup_default PARTITION OF idemsvc.lookup DEFAULT;

CREATE FUNCTION idemsvc.make_partitions(days integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS
$$
DECLARE
    parent text;
    day    date;
    part   text;
    made   integer := 0;
BEGIN
    IF days < 0 OR days > 60 THEN
        RAISE EXCEPTION 'days must be from 0 to 60';
    END IF;
    PERFORM set_config('lock_timeout', '2s', true);
    FOREACH parent IN ARRAY ARRAY['payload', 'delivery', 'journal', 'lookup'] LOOP
        FOR day IN SELECT generate_series(current_date, current_date + days, interval '1 day')::date LOOP
            part := parent || '_' || to_char(day, 'YYYYMMDD');
            CONTINUE WHEN to_regclass('idemsvc.' || part) IS NOT NULL;
            -- Attaching a table made apart takes a weaker lock on the parent than making
            -- the partition in place.
            BEGIN
                EXECUTE format('CREATE TABLE idemsvc.%I (LIKE idemsvc.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE)', part, parent);
                EXECUTE format('ALTER TABLE idemsvc.%I ATTACH PARTITION idemsvc.%I FOR VALUES FROM (%L) TO (%L)',
                               parent, part, day::timestamptz, (day + 1)::timestamptz);
                IF parent = 'delivery' THEN -- a delivery is kept once; unique for each day, since a partition key is no part of it
                    EXECUTE format('CREATE UNIQUE INDEX ON idemsvc.%I (event, identity)', part);
                END IF;
                made := made + 1;
            EXCEPTION
                -- Rows of that day are in the default partition already, or somebody else
                -- was quicker: they stay where they are, and the day goes on there.
                WHEN check_violation OR duplicate_table OR unique_violation OR lock_not_available THEN NULL;
            END;
        END LOOP;
    END LOOP;
    RETURN made;
END
$$;
REVOKE ALL ON FUNCTION idemsvc.make_partitions(integer) FROM PUBLIC;

INSERT INTO idemsvc.meta (epoch, system_identifier, timeline)
SELECT 1, system_identifier, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) FROM pg_control_system();

INSERT INTO idemsvc.secret (token)
SELECT sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

INSERT INTO idemsvc.follower (snapshot, read_at) VALUES (pg_current_snapshot(), clock_timestamp());

SELECT idemsvc.make_partitions(7);
