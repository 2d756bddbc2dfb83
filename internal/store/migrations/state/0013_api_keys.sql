-- Keys with which programs sign in; see package apikey.
CREATE TABLE api_keys (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    role       TEXT NOT NULL,
    namespaces TEXT NOT NULL,   -- JSON; null for all
    routes     TEXT NOT NULL,   -- JSON; null for all
    hash       TEXT NOT NULL,   -- SHA-256 of the secret, in hexadecimal
    created_at BIGINT NOT NULL, -- UTC, microseconds since 1970
    expires_at BIGINT NOT NULL, -- 0 for never
    revoked_at BIGINT NOT NULL, -- 0 unless it was
    used_at    BIGINT NOT NULL  -- 0 for never
);
CREATE INDEX api_keys_created ON api_keys (created_at, id);
CREATE INDEX api_keys_valid ON api_keys (revoked_at, expires_at);
