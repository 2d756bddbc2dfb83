-- Work that goes on after the request that asked for it; see package job.
CREATE TABLE jobs (
    id         TEXT PRIMARY KEY, -- ULID
    kind       TEXT NOT NULL,
    namespace  TEXT NOT NULL,
    owner      TEXT NOT NULL,
    request    TEXT NOT NULL,    -- JSON
    state      TEXT NOT NULL,    -- job.State
    finished   INTEGER NOT NULL, -- 1 when the state is final
    asked      INTEGER NOT NULL, -- 1 when somebody wants it to be cancelled
    message    TEXT NOT NULL,
    error      TEXT NOT NULL,
    counts     TEXT NOT NULL,    -- JSON, job.Counts
    files      TEXT NOT NULL,    -- JSON, a list of job.File
    runs       INTEGER NOT NULL,
    created_at BIGINT NOT NULL,  -- UTC, microseconds since 1970
    queued_at  BIGINT NOT NULL,
    started_at BIGINT NOT NULL,  -- 0 before
    ended_at   BIGINT NOT NULL   -- 0 before
);
CREATE INDEX jobs_owner ON jobs (owner, id);
CREATE INDEX jobs_waiting ON jobs (finished, queued_at, id);
CREATE INDEX jobs_ended ON jobs (finished, ended_at);
