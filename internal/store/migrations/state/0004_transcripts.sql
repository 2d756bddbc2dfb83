-- Chats that belong to their clients, messages as the clients wrote them. They are no conversations
-- and have no turns.
CREATE TABLE transcripts (
    key          TEXT PRIMARY KEY, -- ULID; the id is the client's in some protocols
    kind         TEXT NOT NULL,    -- transcript.Kind
    namespace    TEXT NOT NULL,
    owner        TEXT NOT NULL,
    id           TEXT NOT NULL,
    mode         TEXT NOT NULL,
    title        TEXT NOT NULL,
    last_message TEXT NOT NULL,    -- shortened, for lists
    messages     BIGINT NOT NULL,  -- how many there are
    created_at   BIGINT NOT NULL,  -- UTC, microseconds since 1970
    updated_at   BIGINT NOT NULL,
    UNIQUE (kind, namespace, owner, id)
);
CREATE INDEX transcripts_recent ON transcripts (kind, namespace, owner, updated_at, id);

CREATE TABLE transcript_messages (
    transcript TEXT NOT NULL REFERENCES transcripts (key) ON DELETE CASCADE,
    position   INTEGER NOT NULL, -- from 0
    id         TEXT NOT NULL,    -- the client's; '' when it gave none
    body       TEXT NOT NULL,    -- JSON
    PRIMARY KEY (transcript, position)
);
