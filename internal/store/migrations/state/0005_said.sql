-- What a turn said, for clients that come back for it. It is deleted before the turn is.
CREATE TABLE said (
    turn_id     TEXT PRIMARY KEY REFERENCES turns (id) ON DELETE CASCADE,
    events      BLOB NOT NULL,    -- compressed; see package turn
    failed      INTEGER NOT NULL, -- the turn ended with an error
    error_kind  INTEGER NOT NULL, -- chat.Kind
    error       TEXT NOT NULL,    -- what clients are told
    finished_at BIGINT NOT NULL   -- UTC, microseconds since 1970
);
CREATE INDEX said_time ON said (finished_at);
