-- Counters hand out numbers that are never used again: the version of the corpus, revisions
-- of documents, ids of segments.
CREATE TABLE counters (
    name  TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO counters (name, value) VALUES ('version', 0);
INSERT INTO counters (name, value) VALUES ('revision', 0);
INSERT INTO counters (name, value) VALUES ('segment', 0);

-- The current revision of every document.
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
    restricted INTEGER NOT NULL, -- 1 when document_access has rows for it
    sha256     TEXT NOT NULL,
    size       BIGINT NOT NULL,
    pages      INTEGER NOT NULL,
    chunks     INTEGER NOT NULL,
    generation TEXT NOT NULL,
    indexed_at BIGINT NOT NULL,  -- UTC, microseconds since 1970
    UNIQUE (namespace, name)
);
-- What Visible reads, and nothing else.
CREATE INDEX documents_visible ON documents (namespace, revision, restricted, category);
CREATE INDEX documents_blob ON documents (sha256);

CREATE TABLE document_access (
    revision BIGINT NOT NULL REFERENCES documents (revision) ON DELETE CASCADE,
    kind     INTEGER NOT NULL, -- 0 user, 1 group
    value    TEXT NOT NULL,
    position INTEGER NOT NULL, -- in the list as it was given
    PRIMARY KEY (revision, kind, value)
);

CREATE TABLE pages (
    revision BIGINT NOT NULL REFERENCES documents (revision) ON DELETE CASCADE,
    position INTEGER NOT NULL, -- in reading order, from 0
    number   INTEGER NOT NULL, -- for people, from 1; 0 where the format has no pages
    body     TEXT NOT NULL,
    char_map BLOB,             -- offset to original character; NULL when there is none
    PRIMARY KEY (revision, position)
);

CREATE TABLE chunks (
    revision BIGINT NOT NULL REFERENCES documents (revision) ON DELETE CASCADE,
    ordinal  INTEGER NOT NULL,
    tokens   INTEGER NOT NULL,
    layout   BLOB NOT NULL,    -- spans and headings, see layout.go
    body     TEXT NOT NULL,
    PRIMARY KEY (revision, ordinal)
);

-- The lexical index. Its bytes lie in parts, so that reading a large segment needs little memory.
CREATE TABLE segments (
    id         BIGINT PRIMARY KEY,
    namespace  TEXT NOT NULL,
    generation TEXT NOT NULL,
    chunks     INTEGER NOT NULL,
    size       BIGINT NOT NULL,
    revisions  BLOB NOT NULL   -- ascending, see layout.go
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
    position  BIGINT NOT NULL, -- in the order in which they were added
    PRIMARY KEY (namespace, path)
);

CREATE TABLE files (
    namespace   TEXT NOT NULL,
    root        TEXT NOT NULL,
    path        TEXT NOT NULL,
    size        BIGINT NOT NULL,
    mod_time    BIGINT NOT NULL, -- nanoseconds, unlike other times: it is compared with a stat
    sha256      TEXT NOT NULL,
    document_id TEXT NOT NULL,
    reason      TEXT NOT NULL,
    detail      TEXT NOT NULL,
    generation  TEXT NOT NULL,
    PRIMARY KEY (namespace, root, path)
);
