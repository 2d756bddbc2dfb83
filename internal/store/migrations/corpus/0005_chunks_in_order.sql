-- A chunk's key is the number of its row, so that reading one descends a single tree: a search in a
-- large corpus waits for pages of the file, and this is the half of them.
CREATE TABLE chunks_in_order (
    id       INTEGER PRIMARY KEY, -- revision * 2^24 + ordinal
    tokens   INTEGER NOT NULL,
    layout   BLOB NOT NULL,       -- spans and headings, see layout.go
    body     TEXT NOT NULL,
    revision BIGINT AS (id >> 24) VIRTUAL,
    ordinal  INTEGER AS (id & 16777215) VIRTUAL
);
INSERT INTO chunks_in_order (id, tokens, layout, body)
    SELECT revision << 24 | ordinal, tokens, layout, body FROM chunks ORDER BY revision, ordinal;
DROP TABLE chunks;
ALTER TABLE chunks_in_order RENAME TO chunks;

CREATE TRIGGER documents_chunks AFTER DELETE ON documents BEGIN
    DELETE FROM chunks WHERE id >= old.revision << 24 AND id < (old.revision + 1) << 24;
END;
