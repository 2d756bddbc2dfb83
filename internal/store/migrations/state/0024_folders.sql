ALTER TABLE transcripts ADD COLUMN folder TEXT NOT NULL DEFAULT ''; -- id of a folder on its owner's shelf; '' for none
