-- The schema of the corpus after the SQLite migrations up to the number of this file, whose comments
-- explain the columns. Later migrations are those of SQLite, unless a file here has the same number.
-- TEXT and BLOB stand for PostgreSQL's types; see portable in postgres_migrate.go.

CREATE TABLE counters (
    name  TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);

CREATE TABLE documents (
    id         TEXT PRIMARY KEY,
    namespace  TEXT NOT NULL,
    owner      TEXT NOT NULL,
    revision   BIGINT NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    title      TEXT NOT NULL,
    url        TEXT NOT NULL,
    category   TEXT NOT NULL,
    media_type TEXT NOT NULL,
    restricted INTEGER NOT NULL,
    sha256     TEXT NOT NULL,
    size       BIGINT NOT NULL,
    pages      INTEGER NOT NULL,
    chunks     INTEGER NOT NULL,
    generation TEXT NOT NULL,
    indexed_at BIGINT NOT NULL,
    notes      TEXT NOT NULL DEFAULT '',
    UNIQUE (namespace, name)
);
CREATE INDEX documents_visible ON documents (namespace, revision, restricted, category);
CREATE INDEX documents_blob ON documents (sha256);

CREATE TABLE document_access (
    revision BIGINT NOT NULL REFERENCES documents (revision) ON DELETE CASCADE,
    kind     INTEGER NOT NULL,
    value    TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (revision, kind, value)
);

CREATE TABLE pages (
    revision BIGINT NOT NULL REFERENCES documents (revision) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    body     TEXT NOT NULL,
    char_map BLOB,
    PRIMARY KEY (revision, position)
);

CREATE TABLE segments (
    id         BIGINT PRIMARY KEY,
    namespace  TEXT NOT NULL,
    generation TEXT NOT NULL,
    chunks     INTEGER NOT NULL,
    size       BIGINT NOT NULL,
    revisions  BLOB NOT NULL
);
CREATE INDEX segments_namespace ON segments (namespace, id);

CREATE TABLE segment_parts (
    segment_id BIGINT NOT NULL REFERENCES segments (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    body       BLOB NOT NULL,
    PRIMARY KEY (segment_id, position)
);

CREATE TABLE roots (
    namespace TEXT NOT NULL,
    path      TEXT NOT NULL,
    prefix    TEXT NOT NULL,
    position  BIGINT NOT NULL,
    source    TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (namespace, path)
);

CREATE TABLE files (
    namespace   TEXT NOT NULL,
    root        TEXT NOT NULL,
    path        TEXT NOT NULL,
    size        BIGINT NOT NULL,
    mod_time    BIGINT NOT NULL,
    sha256      TEXT NOT NULL,
    document_id TEXT NOT NULL,
    reason      TEXT NOT NULL,
    detail      TEXT NOT NULL,
    generation  TEXT NOT NULL,
    state       TEXT NOT NULL DEFAULT '',
    put_in      TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (namespace, root, path)
);

CREATE TABLE generations (
    id         BIGINT PRIMARY KEY,
    model      TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    recipe     TEXT NOT NULL,
    length     INTEGER NOT NULL,
    state      TEXT NOT NULL
);

CREATE TABLE vectors (
    id         BIGINT PRIMARY KEY,
    generation BIGINT NOT NULL REFERENCES generations (id),
    hash       BLOB NOT NULL,
    body       BLOB NOT NULL,
    UNIQUE (generation, hash)
);

CREATE TABLE chunk_vectors (
    revision   BIGINT NOT NULL REFERENCES documents (revision) ON DELETE CASCADE,
    ordinal    INTEGER NOT NULL,
    generation BIGINT NOT NULL,
    namespace  TEXT NOT NULL,
    vector     BIGINT NOT NULL REFERENCES vectors (id),
    version    BIGINT NOT NULL,
    PRIMARY KEY (revision, ordinal, generation)
);
CREATE INDEX chunk_vectors_load ON chunk_vectors (generation, namespace, version, revision, ordinal, vector);
CREATE INDEX chunk_vectors_vector ON chunk_vectors (vector);
CREATE INDEX files_document ON files (document_id) WHERE document_id <> '';

CREATE TABLE chunks (
    id       BIGINT PRIMARY KEY,
    tokens   INTEGER NOT NULL,
    layout   BLOB NOT NULL,
    body     TEXT NOT NULL,
    revision BIGINT GENERATED ALWAYS AS (id >> 24) STORED,
    ordinal  INTEGER GENERATED ALWAYS AS ((id & 16777215)::INTEGER) STORED
);
CREATE INDEX documents_partly ON documents (namespace) WHERE notes <> '';

INSERT INTO counters (name, value) VALUES
    ('version', 0), ('revision', 0), ('segment', 0), ('vectors', 0), ('vector', 0), ('generation', 0);

CREATE FUNCTION documents_chunks() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM chunks WHERE id >= old.revision << 24 AND id < (old.revision + 1) << 24;
    RETURN NULL;
END $$;
CREATE TRIGGER documents_chunks AFTER DELETE ON documents FOR EACH ROW EXECUTE FUNCTION documents_chunks();

-- Functions of SQLite's.
CREATE FUNCTION json_each(text) RETURNS TABLE (value BIGINT) LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
    'SELECT e::BIGINT FROM jsonb_array_elements_text($1::JSONB) AS a (e)'; -- of a list of numbers
CREATE FUNCTION instr(text, text) RETURNS INTEGER LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS 'SELECT strpos($1, $2)';

-- Originals. With SQLite they are files.
CREATE TABLE blobs (
    sha256    TEXT PRIMARY KEY,
    size      BIGINT NOT NULL,
    stored_at BIGINT NOT NULL -- last time, UTC, microseconds since 1970
);
CREATE TABLE blob_parts (
    sha256   TEXT NOT NULL REFERENCES blobs (sha256) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    body     BLOB NOT NULL,
    PRIMARY KEY (sha256, position)
);

-- These bytes do not get smaller by compressing them again.
ALTER TABLE blob_parts ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE segment_parts ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE vectors ALTER COLUMN body SET STORAGE EXTERNAL;
