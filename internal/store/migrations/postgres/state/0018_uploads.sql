-- Uploaded files (package documents/upload), which SQLite has in a folder.
CREATE TABLE upload_files (
    name        TEXT PRIMARY KEY, -- with folders, separated by slashes
    body        TEXT NOT NULL,    -- of upload_parts; several names may share one
    size        BIGINT NOT NULL,  -- in bytes
    modified_at BIGINT NOT NULL
);
CREATE INDEX upload_files_body ON upload_files (body);

-- The bytes of uploaded files, in parts of 1 MiB. A body without a name is being written, or was left by a crash.
CREATE TABLE upload_parts (
    body     TEXT,             -- an id, which begins with the time
    position BIGINT,
    part     BLOB NOT NULL,
    PRIMARY KEY (body, position)
);
