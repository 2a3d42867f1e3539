-- How many blocks a table has.
SELECT pg_relation_size($1::text::regclass) / current_setting('block_size')::bigint
