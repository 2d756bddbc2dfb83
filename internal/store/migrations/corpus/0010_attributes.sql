-- What else is said of a document: a JSON object, or '' for nothing.
ALTER TABLE documents ADD COLUMN attributes TEXT NOT NULL DEFAULT '';
