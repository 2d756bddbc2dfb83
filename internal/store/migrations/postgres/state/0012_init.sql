-- The schema of the state after the SQLite migrations up to the number of this file; see
-- ../corpus for what that means.

CREATE TABLE conversations (
    id         TEXT PRIMARY KEY,
    namespace  TEXT NOT NULL,
    owner      TEXT NOT NULL,
    turns      BIGINT NOT NULL,
    completed  BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    kind       TEXT NOT NULL DEFAULT '',
    bytes      BIGINT NOT NULL DEFAULT 0,
    origin     TEXT NOT NULL DEFAULT ''
);

CREATE TABLE turns (
    id               TEXT PRIMARY KEY,
    namespace        TEXT NOT NULL,
    owner            TEXT NOT NULL,
    conversation_id  TEXT REFERENCES conversations (id) ON DELETE CASCADE,
    position         BIGINT NOT NULL,
    status           TEXT NOT NULL,
    error_kind       INTEGER NOT NULL,
    query            TEXT NOT NULL,
    requested_model  TEXT NOT NULL,
    model            TEXT NOT NULL,
    input_tokens     BIGINT NOT NULL,
    output_tokens    BIGINT NOT NULL,
    cached_tokens    BIGINT NOT NULL,
    reasoning_tokens BIGINT NOT NULL,
    estimated        INTEGER NOT NULL,
    stages           TEXT NOT NULL,
    first_token      BIGINT NOT NULL,
    started_at       BIGINT NOT NULL,
    finished_at      BIGINT NOT NULL,
    bytes            BIGINT NOT NULL DEFAULT 0,
    origin           TEXT NOT NULL DEFAULT ''
);
CREATE INDEX turns_conversation ON turns (conversation_id, position) WHERE conversation_id IS NOT NULL;

CREATE TABLE messages (
    turn_id          TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    position         INTEGER NOT NULL,
    id               TEXT NOT NULL,
    role             TEXT NOT NULL,
    agent            TEXT NOT NULL,
    status           TEXT NOT NULL,
    parts            TEXT NOT NULL,
    citations        TEXT NOT NULL,
    finish_reason    TEXT NOT NULL,
    model            TEXT NOT NULL,
    tokens           BIGINT NOT NULL,
    input_tokens     BIGINT NOT NULL,
    output_tokens    BIGINT NOT NULL,
    cached_tokens    BIGINT NOT NULL,
    reasoning_tokens BIGINT NOT NULL,
    estimated        INTEGER NOT NULL,
    created_at       BIGINT NOT NULL,
    doubts           TEXT NOT NULL DEFAULT '',
    tool_calls       TEXT NOT NULL DEFAULT '',
    tool_call_id     TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (turn_id, position)
);
CREATE INDEX conversations_kind ON conversations (kind, updated_at);

CREATE TABLE accounts (
    owner            TEXT NOT NULL,
    stored           INTEGER NOT NULL,
    account_user     TEXT NOT NULL,
    conversation     TEXT NOT NULL,
    turns            BIGINT NOT NULL,
    embedding_tokens BIGINT NOT NULL,
    embedding_micros BIGINT NOT NULL,
    input_tokens     BIGINT NOT NULL,
    output_tokens    BIGINT NOT NULL,
    micros           BIGINT NOT NULL,
    unpriced         BIGINT NOT NULL,
    estimated        BIGINT NOT NULL,
    used_at          BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (owner, stored, account_user, conversation)
);

CREATE TABLE idempotency (
    owner      TEXT NOT NULL,
    route      TEXT NOT NULL,
    value      TEXT NOT NULL,
    body       BLOB NOT NULL,
    turn_id    TEXT NOT NULL,
    events     BLOB NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (owner, route, value)
);
CREATE INDEX idempotency_time ON idempotency (created_at);

CREATE TABLE transcripts (
    key          TEXT PRIMARY KEY,
    kind         TEXT NOT NULL,
    namespace    TEXT NOT NULL,
    owner        TEXT NOT NULL,
    id           TEXT NOT NULL,
    mode         TEXT NOT NULL,
    title        TEXT NOT NULL,
    last_message TEXT NOT NULL,
    messages     BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    bytes        BIGINT NOT NULL DEFAULT 0,
    origin       TEXT NOT NULL DEFAULT '',
    UNIQUE (kind, namespace, owner, id)
);
CREATE INDEX transcripts_recent ON transcripts (kind, namespace, owner, updated_at, id);

CREATE TABLE transcript_messages (
    transcript TEXT NOT NULL REFERENCES transcripts (key) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    id         TEXT NOT NULL,
    body       TEXT NOT NULL,
    PRIMARY KEY (transcript, position)
);

CREATE TABLE jobs (
    id         TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    namespace  TEXT NOT NULL,
    owner      TEXT NOT NULL,
    request    TEXT NOT NULL,
    state      TEXT NOT NULL,
    finished   INTEGER NOT NULL,
    asked      INTEGER NOT NULL,
    message    TEXT NOT NULL,
    error      TEXT NOT NULL,
    counts     TEXT NOT NULL,
    files      TEXT NOT NULL,
    runs       INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    queued_at  BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at   BIGINT NOT NULL,
    origin     TEXT NOT NULL DEFAULT ''
);
CREATE INDEX jobs_owner ON jobs (owner, id);
CREATE INDEX jobs_waiting ON jobs (finished, queued_at, id);
CREATE INDEX jobs_ended ON jobs (finished, ended_at);

CREATE TABLE intents (
    id                   TEXT PRIMARY KEY,
    namespace            TEXT NOT NULL,
    owner                TEXT NOT NULL,
    conversation_id      TEXT NOT NULL,
    account_user         TEXT NOT NULL,
    account_conversation TEXT NOT NULL,
    turn_id              TEXT NOT NULL,
    stage                TEXT NOT NULL,
    provider             TEXT NOT NULL,
    model                TEXT NOT NULL,
    estimated_input      BIGINT NOT NULL,
    created_at           BIGINT NOT NULL
);

CREATE TABLE said (
    turn_id     TEXT PRIMARY KEY REFERENCES turns (id) ON DELETE CASCADE,
    failed      INTEGER NOT NULL,
    error_kind  INTEGER NOT NULL,
    error       TEXT NOT NULL,
    finished_at BIGINT NOT NULL,
    events      BLOB NOT NULL
);

CREATE TABLE ledger (
    id                   TEXT NOT NULL,
    namespace            TEXT NOT NULL,
    owner                TEXT NOT NULL,
    conversation_id      TEXT NOT NULL,
    account_user         TEXT NOT NULL,
    account_conversation TEXT NOT NULL,
    turn_id              TEXT NOT NULL,
    stage                TEXT NOT NULL,
    provider             TEXT NOT NULL,
    model                TEXT NOT NULL,
    status               TEXT NOT NULL,
    estimated_input      BIGINT NOT NULL,
    input_tokens         BIGINT NOT NULL,
    output_tokens        BIGINT NOT NULL,
    cached_tokens        BIGINT NOT NULL,
    reasoning_tokens     BIGINT NOT NULL,
    estimated            INTEGER NOT NULL,
    cost_micros          BIGINT,
    created_at           BIGINT NOT NULL,
    settled_at           BIGINT NOT NULL,
    PRIMARY KEY (turn_id, id)
);
CREATE INDEX conversations_recent ON conversations (namespace, owner, kind, updated_at, id);
CREATE INDEX turns_origin ON turns (owner, origin, finished_at, id, bytes) WHERE conversation_id IS NULL;
CREATE INDEX turns_stateless ON turns (finished_at) WHERE conversation_id IS NULL;

-- What is said of the database as a whole. SQLite has files for that.
CREATE TABLE about (
    name  TEXT PRIMARY KEY, -- id: of this database; copying: from where, while it is being filled by a copy
    value TEXT NOT NULL
);
INSERT INTO about (name, value) VALUES ('id', gen_random_uuid());
