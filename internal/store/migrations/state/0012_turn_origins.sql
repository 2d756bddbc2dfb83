-- From where a turn without a conversation was asked for, as in 0010, so that one origin cannot push out what others ask.
ALTER TABLE turns ADD COLUMN origin TEXT NOT NULL DEFAULT '';
CREATE INDEX turns_origin ON turns (owner, origin, finished_at, id, bytes) WHERE conversation_id IS NULL;
DROP INDEX turns_stateless;
CREATE INDEX turns_stateless ON turns (finished_at) WHERE conversation_id IS NULL;
