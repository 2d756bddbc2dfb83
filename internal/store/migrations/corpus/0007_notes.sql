-- What could not be read of a document although the rest could, for people. The rows of its files have it as their
-- detail, with an empty reason.
ALTER TABLE documents ADD COLUMN notes TEXT NOT NULL DEFAULT '';
CREATE INDEX documents_partly ON documents (namespace) WHERE notes <> '';
