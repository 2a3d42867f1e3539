-- What was taken is kept from others by a time that stands in no index, so that taking
-- changes no index either: where the row's page has room for it. Rows that came together are
-- taken together, so that half of a page is kept free.
ALTER TABLE idemsvc.unfinished ADD COLUMN taken_until timestamptz;
ALTER TABLE idemsvc.unfinished SET (fillfactor = 45);

-- Lists are of one namespace, and only claims are looked for by the end of their lease:
-- unfinished_namespace and unfinished_claims serve them.
DROP INDEX idemsvc.unfinished_state, idemsvc.unfinished_due;
