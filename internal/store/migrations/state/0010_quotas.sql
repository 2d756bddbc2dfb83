-- What people store without signing in is bounded: how many bytes it takes, and from where it came, by a
-- name that nobody can turn back into an address ('' for this machine, or not known).
ALTER TABLE transcripts ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE transcripts ADD COLUMN origin TEXT NOT NULL DEFAULT '';
ALTER TABLE conversations ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN origin TEXT NOT NULL DEFAULT '';
ALTER TABLE turns ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
UPDATE transcripts SET bytes = (SELECT COALESCE(SUM(LENGTH(body)), 0) FROM transcript_messages WHERE transcript = key);
UPDATE turns SET bytes = (SELECT COALESCE(SUM(LENGTH(parts) + LENGTH(citations)), 0) FROM messages WHERE turn_id = turns.id);
UPDATE conversations SET bytes = (SELECT COALESCE(SUM(bytes), 0) FROM turns WHERE conversation_id = conversations.id);
-- The stateless turns are added up from this index alone.
DROP INDEX turns_stateless;
CREATE INDEX turns_stateless ON turns (finished_at, owner, bytes) WHERE conversation_id IS NULL;
-- When something was last added to the totals.
ALTER TABLE accounts ADD COLUMN used_at BIGINT NOT NULL DEFAULT 0;
