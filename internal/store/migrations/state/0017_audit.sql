-- Who did what; see package audit.
CREATE TABLE audit (
    id      TEXT PRIMARY KEY,
    at      BIGINT NOT NULL, -- UTC, microseconds since 1970
    subject TEXT NOT NULL,
    action  TEXT NOT NULL,
    entry   TEXT NOT NULL    -- JSON
);
CREATE INDEX audit_at ON audit (at, id);
CREATE INDEX audit_subject ON audit (subject, id);
