ALTER TABLE transcripts ADD COLUMN pinned SMALLINT NOT NULL DEFAULT 0; -- kept at the top of lists
