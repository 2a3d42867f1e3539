-- Acquisitions that nobody repeats any more.
DELETE FROM idemsvc.acquired a
WHERE a.ctid = ANY (ARRAY(
    SELECT o.ctid FROM idemsvc.acquired o WHERE o.at < statement_timestamp() - $1 * interval '1 microsecond' ORDER BY o.at LIMIT $2 FOR UPDATE SKIP LOCKED))
