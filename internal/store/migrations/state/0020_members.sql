-- Namespaces that have members only, even if none is left.
CREATE TABLE closed (
    namespace TEXT PRIMARY KEY,
    since     BIGINT NOT NULL -- UTC, microseconds since 1970
);
-- Who may do what in them; see access.Members.
CREATE TABLE members (
    namespace TEXT NOT NULL,
    kind      INTEGER NOT NULL, -- 0 user, 1 group
    member    TEXT NOT NULL,    -- subject, or id of the group
    role      TEXT NOT NULL,
    added_at  BIGINT NOT NULL,
    PRIMARY KEY (namespace, kind, member)
);
-- Grows with each change of the two, so that servers notice one cheaply. There is no row before the first.
CREATE TABLE members_version (
    id    INTEGER PRIMARY KEY,
    value BIGINT NOT NULL
);
