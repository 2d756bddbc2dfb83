-- The link by which a chat is shared. It shows the messages that the chat had when the link was made or renewed.
ALTER TABLE transcripts ADD COLUMN link TEXT NOT NULL DEFAULT ''; -- '' is not shared
ALTER TABLE transcripts ADD COLUMN linked_messages BIGINT NOT NULL DEFAULT 0;
ALTER TABLE transcripts ADD COLUMN linked_at BIGINT NOT NULL DEFAULT 0; -- in microseconds
CREATE UNIQUE INDEX transcripts_link ON transcripts (link) WHERE link <> '';
