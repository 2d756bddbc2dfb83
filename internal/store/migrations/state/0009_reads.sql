-- The ledger is in the order of its turns, whose ids begin with their times, so that the calls of a turn lie together. Rows
-- are still appended at the end, and no index has to be kept beside the table.
CREATE TABLE by_turn (
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
    status               TEXT NOT NULL, -- completed, failed, cancelled, interrupted
    estimated_input      BIGINT NOT NULL,
    input_tokens         BIGINT NOT NULL,
    output_tokens        BIGINT NOT NULL,
    cached_tokens        BIGINT NOT NULL,
    reasoning_tokens     BIGINT NOT NULL,
    estimated            INTEGER NOT NULL,
    cost_micros          BIGINT,        -- millionths of a US dollar; NULL when the price is unknown
    created_at           BIGINT NOT NULL,
    settled_at           BIGINT NOT NULL,
    PRIMARY KEY (turn_id, id)
) WITHOUT ROWID;
INSERT INTO by_turn SELECT id, namespace, owner, conversation_id, account_user, account_conversation, turn_id, stage,
    provider, model, status, estimated_input, input_tokens, output_tokens, cached_tokens, reasoning_tokens, estimated,
    cost_micros, created_at, settled_at FROM ledger ORDER BY turn_id, id;
DROP TABLE ledger;
ALTER TABLE by_turn RENAME TO ledger;

-- A page of an owner's conversations of one kind is read in its order, whatever else the owner has.
CREATE INDEX conversations_recent ON conversations (namespace, owner, kind, updated_at, id);
DROP INDEX conversations_owner;
