-- How the origin behind a root is read, and what an origin has said of a file: texts that only
-- those understand who write them. Empty for files and folders.
ALTER TABLE roots ADD COLUMN source TEXT NOT NULL DEFAULT '';
ALTER TABLE files ADD COLUMN state TEXT NOT NULL DEFAULT '';
