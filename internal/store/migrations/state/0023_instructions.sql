-- What models are told, beside the server's own prompt, when they answer from a namespace.
CREATE TABLE instructions (
    namespace  TEXT PRIMARY KEY,
    body       TEXT NOT NULL,
    changed_at BIGINT NOT NULL -- UTC, microseconds since 1970
);
