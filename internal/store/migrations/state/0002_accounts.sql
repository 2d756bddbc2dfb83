-- What kind of conversation it is; kinds do not see each other. "" is that of the AI Chat
-- Protocol's session state.
ALTER TABLE conversations ADD COLUMN kind TEXT NOT NULL DEFAULT '';
CREATE INDEX conversations_kind ON conversations (kind, updated_at);

-- The account that the client named; see chat.Account.
ALTER TABLE ledger ADD COLUMN account_user TEXT NOT NULL DEFAULT '';
ALTER TABLE ledger ADD COLUMN account_conversation TEXT NOT NULL DEFAULT '';
CREATE INDEX ledger_time ON ledger (created_at);

-- Running totals, kept in the transactions that settle the ledger and save turns: at any moment
-- a row is the sum of the ledger's entries of its account since it was last cleared.
CREATE TABLE accounts (
    owner            TEXT NOT NULL,
    stored           INTEGER NOT NULL, -- 1: conversation is the id of a stored conversation
    account_user     TEXT NOT NULL,
    conversation     TEXT NOT NULL,
    turns            BIGINT NOT NULL,  -- completed
    embedding_tokens BIGINT NOT NULL,
    embedding_micros BIGINT NOT NULL,  -- millionths of a US dollar
    input_tokens     BIGINT NOT NULL,  -- of completions
    output_tokens    BIGINT NOT NULL,
    micros           BIGINT NOT NULL,
    unpriced         BIGINT NOT NULL,  -- calls whose price is unknown
    estimated        BIGINT NOT NULL,  -- calls whose tokens are an estimate
    PRIMARY KEY (owner, stored, account_user, conversation)
);

-- Requests that carried a key of their client's and were answered: the same key finds the turn.
CREATE TABLE idempotency (
    owner      TEXT NOT NULL,
    route      TEXT NOT NULL,
    value      TEXT NOT NULL,   -- the key
    body       BLOB NOT NULL,   -- SHA-256 of the request's body
    turn_id    TEXT NOT NULL,
    events     BLOB NOT NULL,   -- what the turn said, compressed
    created_at BIGINT NOT NULL,
    PRIMARY KEY (owner, route, value)
);
CREATE INDEX idempotency_time ON idempotency (created_at);
