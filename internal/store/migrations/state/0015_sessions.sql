-- People who are signed in on the web page; see package session.
CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    hash       TEXT NOT NULL,   -- SHA-256 of the secret, in hexadecimal
    subject    TEXT NOT NULL,
    name       TEXT NOT NULL,
    api_key    TEXT NOT NULL,   -- id of the key with which it began; '' for a provider
    issuer     TEXT NOT NULL,   -- '' for a key
    claims     TEXT NOT NULL,   -- JSON
    sealed     TEXT NOT NULL,   -- the ID token, sealed with the secret, in base64
    created_at BIGINT NOT NULL, -- UTC, microseconds since 1970
    expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_subject ON sessions (subject, created_at, id);
CREATE INDEX sessions_expire ON sessions (expires_at);
