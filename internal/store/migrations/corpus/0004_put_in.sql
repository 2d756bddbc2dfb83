-- The namespace of a file's document, where it is another one than that of the file's row.
ALTER TABLE files ADD COLUMN put_in TEXT NOT NULL DEFAULT '';
CREATE INDEX files_document ON files (document_id) WHERE document_id <> '';
