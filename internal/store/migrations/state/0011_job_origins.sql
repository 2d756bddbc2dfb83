-- From where a job came, as for what people store: callers without sign-in take turns.
ALTER TABLE jobs ADD COLUMN origin TEXT NOT NULL DEFAULT '';
