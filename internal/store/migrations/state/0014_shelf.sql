-- Files and vector stores that clients keep; see package shelf.
CREATE TABLE shelf (
    owner      TEXT NOT NULL,
    kind       TEXT NOT NULL,   -- shelf.Kind
    parent     TEXT NOT NULL,   -- id of the store, for members and batches
    id         TEXT NOT NULL,
    grp        TEXT NOT NULL,   -- shelf.Item.Group
    state      TEXT NOT NULL,
    size       BIGINT NOT NULL, -- bytes
    created_at BIGINT NOT NULL, -- UTC, microseconds since 1970
    body       TEXT NOT NULL,   -- JSON
    PRIMARY KEY (owner, kind, parent, id)
);
CREATE INDEX shelf_order ON shelf (owner, kind, parent, created_at, id);
CREATE INDEX shelf_files ON shelf (owner, kind, id, parent);
