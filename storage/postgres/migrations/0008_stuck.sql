-- What decides, with namespace and consumer, which policy an unfinished event goes by: so that
-- those can be counted that have stood still for longer than their policy allows, without
-- reading their records. Empty for what was listed before this and has not moved since.
ALTER TABLE idemsvc.unfinished
    ADD COLUMN source text COLLATE "C",
    ADD COLUMN type   text COLLATE "C";
