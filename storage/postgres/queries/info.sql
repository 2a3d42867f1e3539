SELECT clock_timestamp(), m.epoch, extract(epoch FROM clock_timestamp() - f.read_at)::float8,
    (SELECT max(version) FROM idemsvc.schema_migration), pg_is_in_recovery(), r.passed_at, r.events, r.effects, r.resources, r.payloads, r.partitions
FROM idemsvc.meta m, idemsvc.follower f, idemsvc.retention r
