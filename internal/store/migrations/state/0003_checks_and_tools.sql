-- What the check of an answer's citations found, as a JSON array of chat.Doubt; '' for nothing.
ALTER TABLE messages ADD COLUMN doubts TEXT NOT NULL DEFAULT '';
-- What an assistant's message asks the client to run, as a JSON array of {"id","name","arguments"}; '' for nothing.
ALTER TABLE messages ADD COLUMN tool_calls TEXT NOT NULL DEFAULT '';
-- The call that a tool's message answers.
ALTER TABLE messages ADD COLUMN tool_call_id TEXT NOT NULL DEFAULT '';
