CREATE TABLE conversations (
    id         TEXT PRIMARY KEY,
    namespace  TEXT NOT NULL,
    owner      TEXT NOT NULL,
    turns      BIGINT NOT NULL, -- turns saved, however they ended; numbers them
    completed  BIGINT NOT NULL, -- turns completed; guards against lost updates
    created_at BIGINT NOT NULL, -- UTC, microseconds since 1970
    updated_at BIGINT NOT NULL
);
CREATE INDEX conversations_owner ON conversations (namespace, owner, updated_at);

CREATE TABLE turns (
    id               TEXT PRIMARY KEY,
    namespace        TEXT NOT NULL,
    owner            TEXT NOT NULL,
    conversation_id  TEXT REFERENCES conversations (id) ON DELETE CASCADE, -- NULL for a stateless turn
    position         BIGINT NOT NULL,  -- in the conversation, from 1; 0 for a stateless turn
    status           TEXT NOT NULL,    -- completed, failed, cancelled
    error_kind       INTEGER NOT NULL, -- chat.Kind; only with status failed
    query            TEXT NOT NULL,    -- the standalone form of the question
    requested_model  TEXT NOT NULL,
    model            TEXT NOT NULL,
    input_tokens     BIGINT NOT NULL,
    output_tokens    BIGINT NOT NULL,
    cached_tokens    BIGINT NOT NULL,
    reasoning_tokens BIGINT NOT NULL,
    estimated        INTEGER NOT NULL,
    stages           TEXT NOT NULL,    -- JSON array of chat.StageFinished
    first_token      BIGINT NOT NULL,  -- microseconds after started_at; 0 when none came
    started_at       BIGINT NOT NULL,
    finished_at      BIGINT NOT NULL
);
CREATE INDEX turns_conversation ON turns (conversation_id, position) WHERE conversation_id IS NOT NULL;
CREATE INDEX turns_stateless ON turns (finished_at) WHERE conversation_id IS NULL;

-- A turn's messages: the question at position 0, then the answers.
CREATE TABLE messages (
    turn_id          TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    position         INTEGER NOT NULL,
    id               TEXT NOT NULL,
    role             TEXT NOT NULL,
    agent            TEXT NOT NULL,
    status           TEXT NOT NULL,
    parts            TEXT NOT NULL,    -- JSON array of {"text"} or {"image"}
    citations        TEXT NOT NULL,    -- JSON array of chat.Citation
    finish_reason    TEXT NOT NULL,
    model            TEXT NOT NULL,
    tokens           BIGINT NOT NULL,
    input_tokens     BIGINT NOT NULL,
    output_tokens    BIGINT NOT NULL,
    cached_tokens    BIGINT NOT NULL,
    reasoning_tokens BIGINT NOT NULL,
    estimated        INTEGER NOT NULL,
    created_at       BIGINT NOT NULL,
    PRIMARY KEY (turn_id, position)
);

-- One row a paid model call. It outlives the turn, and the turn may be missing: what was being
-- answered when the process died was paid for all the same.
CREATE TABLE ledger (
    id               TEXT PRIMARY KEY,
    namespace        TEXT NOT NULL,
    owner            TEXT NOT NULL,
    conversation_id  TEXT NOT NULL,
    turn_id          TEXT NOT NULL,
    stage            TEXT NOT NULL,
    provider         TEXT NOT NULL,
    model            TEXT NOT NULL,
    status           TEXT NOT NULL,   -- intent, completed, failed, cancelled, interrupted
    estimated_input  BIGINT NOT NULL,
    input_tokens     BIGINT NOT NULL,
    output_tokens    BIGINT NOT NULL,
    cached_tokens    BIGINT NOT NULL,
    reasoning_tokens BIGINT NOT NULL,
    estimated        INTEGER NOT NULL,
    cost_micros      BIGINT,          -- millionths of a US dollar; NULL when the price is unknown
    created_at       BIGINT NOT NULL,
    settled_at       BIGINT           -- NULL for an intent
);
CREATE INDEX ledger_turn ON ledger (turn_id);
CREATE INDEX ledger_owner ON ledger (namespace, owner, created_at);
CREATE INDEX ledger_conversation ON ledger (namespace, owner, conversation_id);
CREATE INDEX ledger_unsettled ON ledger (created_at) WHERE status = 'intent';
