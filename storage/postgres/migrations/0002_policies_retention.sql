-- The policies of namespaces, every version of them: who put it into force, and when. rules
-- is a list of what idem.Rule says. A namespace's version in force is its highest.
CREATE TABLE idemsvc.policy (
    namespace  text COLLATE "C" NOT NULL,
    version    integer NOT NULL CHECK (version > 0),
    applied_at timestamptz NOT NULL,
    applied_by text COLLATE "C" NOT NULL,
    why        text COLLATE "C" NOT NULL,
    rules      jsonb NOT NULL,
    PRIMARY KEY (namespace, version)
);

-- One row, which changes whenever a policy does: all that replicas look at.
CREATE TABLE idemsvc.policy_head (
    one        boolean PRIMARY KEY DEFAULT true CHECK (one),
    generation bigint NOT NULL
);
INSERT INTO idemsvc.policy_head (generation) VALUES (0);

-- When a resource last changed: retention counts from it. For those that are there already
-- it begins now.
ALTER TABLE idemsvc.resource ADD COLUMN changed_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE idemsvc.resource ALTER COLUMN changed_at SET DEFAULT clock_timestamp();

-- Who looks for what is past its retention, how far that has come, and what was removed.
CREATE TABLE idemsvc.retention (
    one         boolean PRIMARY KEY DEFAULT true CHECK (one),
    holder      uuid,
    lease_until timestamptz NOT NULL DEFAULT '-infinity',
    place       smallint NOT NULL DEFAULT 0,
    block       bigint NOT NULL DEFAULT 0,
    passed_at   timestamptz,
    events      bigint NOT NULL DEFAULT 0,
    effects     bigint NOT NULL DEFAULT 0,
    resources   bigint NOT NULL DEFAULT 0,
    payloads    bigint NOT NULL DEFAULT 0,
    partitions  bigint NOT NULL DEFAULT 0
);
INSERT INTO idemsvc.retention DEFAULT VALUES;

-- Drops the oldest partition of a table that holds nothing younger than an instant, and
-- returns 1, or 0 where there is none. What belongs to unfinished work is kept: it moves to
-- today's partition. The runtime role has no DDL and may not delete from the journal, so the
-- function runs as its owner and sees for itself that nothing younger than a day goes, and of
-- the journal nothing that the reader behind it has not read. A default partition, which is
-- empty unless partitions could not be made, is emptied a thousand rows at a time.
CREATE FUNCTION idemsvc.retire(parent text, before timestamptz) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC'
    SET enable_seqscan = on SET random_page_cost = 4 SET cpu_tuple_cost = 0.01 SET plan_cache_mode = auto AS
$$
DECLARE
    part  text;
    moved text;
    at    text;
    mine  text;
BEGIN
    at := CASE parent WHEN 'payload' THEN 'received_at' WHEN 'delivery' THEN 'recorded_at' WHEN 'journal' THEN 'at' WHEN 'lookup' THEN 'at' END;
    IF at IS NULL THEN
        RAISE EXCEPTION 'no table % is divided by time', parent;
    END IF;
    before := least(before, clock_timestamp() - interval '1 day');
    IF parent = 'journal' THEN
        before := least(before, (SELECT f.read_at - interval '1 hour' FROM idemsvc.follower f));
    END IF;
    PERFORM set_config('lock_timeout', '100ms', true);

    SELECT c.relname INTO part FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = ('idemsvc.' || parent)::regclass AND c.relname ~ ('^' || parent || '_[0-9]{8}$')
      AND to_date(right(c.relname, 8), 'YYYYMMDD') + 1 <= before
    ORDER BY c.relname LIMIT 1;

    mine := CASE parent
        WHEN 'payload' THEN 'SELECT FROM idemsvc.unfinished u WHERE substr(uuid_send(u.id), 1, 8) = substr(uuid_send(x.ref), 1, 8)'
        WHEN 'delivery' THEN 'SELECT FROM idemsvc.unfinished u WHERE u.id = x.event'
        WHEN 'lookup' THEN 'SELECT FROM idemsvc.unfinished u WHERE u.id = x.id' END;
    moved := CASE parent
        WHEN 'payload' THEN 'INSERT INTO idemsvc.payload (received_at, ref, hash, payload) SELECT clock_timestamp(), x.ref, x.hash, x.payload'
        WHEN 'delivery' THEN 'INSERT INTO idemsvc.delivery (recorded_at, event, identity, detail) SELECT clock_timestamp(), x.event, x.identity, x.detail'
        WHEN 'lookup' THEN 'INSERT INTO idemsvc.lookup (at, term, id) SELECT clock_timestamp(), x.term, x.id' END;

    IF part IS NOT NULL THEN
        IF moved IS NOT NULL THEN
            EXECUTE format('%s FROM idemsvc.%I x WHERE EXISTS (%s)%s', moved, part, mine, CASE parent WHEN 'delivery' THEN ' ON CONFLICT DO NOTHING' ELSE '' END);
        END IF;
        EXECUTE format('DROP TABLE idemsvc.%I', part);
        RETURN 1;
    END IF;
    EXECUTE format('DELETE FROM idemsvc.%I WHERE ctid = ANY (ARRAY(SELECT x.ctid FROM idemsvc.%I x WHERE x.%I < $1%s LIMIT 1000))',
                   parent || '_default', parent || '_default', at, CASE WHEN mine IS NULL THEN '' ELSE ' AND NOT EXISTS (' || mine || ')' END) USING before;
    RETURN 0;
END
$$;
REVOKE ALL ON FUNCTION idemsvc.retire(text, timestamptz) FROM PUBLIC;
