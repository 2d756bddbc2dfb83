-- The version of what searches read of the tables below, and the last ids of two of them.
INSERT INTO counters (name, value) VALUES ('vectors', 0);
INSERT INTO counters (name, value) VALUES ('vector', 0);
INSERT INTO counters (name, value) VALUES ('generation', 0);

-- What vectors must have in common to be compared.
CREATE TABLE generations (
    id         BIGINT PRIMARY KEY,
    model      TEXT NOT NULL,    -- provider:model
    dimensions INTEGER NOT NULL, -- asked for; 0 for the model's own
    recipe     TEXT NOT NULL,    -- how the text that stands for a chunk is made
    length     INTEGER NOT NULL, -- of the vectors; 0 while there is none
    state      TEXT NOT NULL     -- building, current, retired
);

-- Vectors by the SHA-256 of their texts.
CREATE TABLE vectors (
    id         BIGINT PRIMARY KEY,
    generation BIGINT NOT NULL REFERENCES generations (id),
    hash       BLOB NOT NULL,
    body       BLOB NOT NULL, -- float32, little-endian; empty for a text that the model refuses
    UNIQUE (generation, hash)
);

-- Which chunk has which vector.
CREATE TABLE chunk_vectors (
    revision   BIGINT NOT NULL REFERENCES documents (revision) ON DELETE CASCADE,
    ordinal    INTEGER NOT NULL,
    generation BIGINT NOT NULL,
    namespace  TEXT NOT NULL,   -- that of the document, for the index below
    vector     BIGINT NOT NULL REFERENCES vectors (id),
    version    BIGINT NOT NULL, -- of the vectors when the row was added
    PRIMARY KEY (revision, ordinal, generation)
);
CREATE INDEX chunk_vectors_load ON chunk_vectors (generation, namespace, version, revision, ordinal, vector);
CREATE INDEX chunk_vectors_vector ON chunk_vectors (vector);
