-- Calls that have begun and not ended. What is committed before a call is made is so one row of one page; when it has
-- ended, its row moves to the ledger.
CREATE TABLE intents (
    id                   TEXT PRIMARY KEY, -- as are the other columns, that of the ledger
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
) WITHOUT ROWID;
INSERT INTO intents SELECT id, namespace, owner, conversation_id, account_user, account_conversation, turn_id, stage,
    provider, model, estimated_input, created_at FROM ledger WHERE status = 'intent';

-- The ledger holds calls that have ended, in the order of their ids, which is that of their times.
CREATE TABLE settled (
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
    status               TEXT NOT NULL, -- completed, failed, cancelled, interrupted
    estimated_input      BIGINT NOT NULL,
    input_tokens         BIGINT NOT NULL,
    output_tokens        BIGINT NOT NULL,
    cached_tokens        BIGINT NOT NULL,
    reasoning_tokens     BIGINT NOT NULL,
    estimated            INTEGER NOT NULL,
    cost_micros          BIGINT,        -- millionths of a US dollar; NULL when the price is unknown
    created_at           BIGINT NOT NULL,
    settled_at           BIGINT NOT NULL
) WITHOUT ROWID;
INSERT INTO settled SELECT id, namespace, owner, conversation_id, account_user, account_conversation, turn_id, stage,
    provider, model, status, estimated_input, input_tokens, output_tokens, cached_tokens, reasoning_tokens, estimated,
    cost_micros, created_at, COALESCE(settled_at, created_at) FROM ledger WHERE status <> 'intent' ORDER BY id;
DROP TABLE ledger; -- with its indexes: ids, which are ULIDs, are in the order of the times
ALTER TABLE settled RENAME TO ledger;

-- What turns said is in the order of their ids too, without an index beside it.
ALTER TABLE said RENAME TO old_said;
CREATE TABLE said (
    turn_id     TEXT PRIMARY KEY REFERENCES turns (id) ON DELETE CASCADE,
    failed      INTEGER NOT NULL, -- the turn ended with an error
    error_kind  INTEGER NOT NULL, -- chat.Kind
    error       TEXT NOT NULL,    -- what clients are told
    finished_at BIGINT NOT NULL,  -- UTC, microseconds since 1970
    events      BLOB NOT NULL     -- compressed where they are many; see package turn
) WITHOUT ROWID;
INSERT INTO said SELECT turn_id, failed, error_kind, error, finished_at, events FROM old_said ORDER BY turn_id;
DROP TABLE old_said;
