-- When the reader behind the journal last wrote while it still has more of its step to write:
-- others leave the cursor to it. What it has not moved past counts as unread all the same.
ALTER TABLE idemsvc.follower ADD COLUMN held_at timestamptz NOT NULL DEFAULT '-infinity';
