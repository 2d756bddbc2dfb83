-- What servers on one database tell each other. Nothing of it outlives them, so it is not in the log of the
-- database (UNLOGGED), and commits of it wait for no disk. Times are those of the database's clock.
CREATE UNLOGGED TABLE servers (
    id         TEXT PRIMARY KEY,
    host       TEXT NOT NULL,
    version    TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL
);

-- Turns that a server wants to follow which does not run them.
CREATE UNLOGGED TABLE wanted_turns (
    turn_id    TEXT PRIMARY KEY,
    wanted_at  BIGINT NOT NULL,
    stop       INTEGER NOT NULL, -- somebody has asked for its end
    running_at BIGINT NOT NULL   -- when the server that runs it last said so; 0: never
);

-- The events of such a turn so far, in parts without gaps.
CREATE UNLOGGED TABLE turn_parts (
    turn_id   TEXT,
    position  BIGINT,           -- in the turn's log, behind which the part begins
    upto      BIGINT NOT NULL,
    namespace TEXT NOT NULL,
    owner     TEXT NOT NULL,
    events    BLOB NOT NULL,    -- as in said
    ended     INTEGER NOT NULL,
    kind      INTEGER,          -- of the error that ended the turn
    error     TEXT NOT NULL,
    PRIMARY KEY (turn_id, position, ended)
);

-- Where to find the turn of something that clients have a name for.
CREATE UNLOGGED TABLE notices (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    at    BIGINT NOT NULL
);
