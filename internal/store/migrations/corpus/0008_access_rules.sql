-- What owners of a namespace have set: who may see a document or what is in a folder, whatever the files say.
CREATE TABLE access_rules (
    namespace TEXT NOT NULL,
    path      TEXT NOT NULL, -- name of a document; or a folder, with a slash at its end: '/' is the namespace
    owner     TEXT NOT NULL, -- of the document; '' for a folder
    PRIMARY KEY (namespace, path, owner)
);
-- Whom a rule admits. One without rows admits everybody.
CREATE TABLE access_rule_names (
    namespace TEXT NOT NULL,
    path      TEXT NOT NULL,
    owner     TEXT NOT NULL,
    kind      INTEGER NOT NULL, -- as in document_access
    value     TEXT NOT NULL,
    position  INTEGER NOT NULL,
    PRIMARY KEY (namespace, path, owner, kind, value),
    FOREIGN KEY (namespace, path, owner) REFERENCES access_rules (namespace, path, owner) ON DELETE CASCADE
);
-- The rule that decides over a document, '' for none. document_access then has the names of the rule, and document_said
-- those of the files.
ALTER TABLE documents ADD COLUMN ruled_by TEXT NOT NULL DEFAULT '';
CREATE TABLE document_said (
    revision BIGINT NOT NULL REFERENCES documents (revision) ON DELETE CASCADE,
    kind     INTEGER NOT NULL,
    value    TEXT NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (revision, kind, value)
);
