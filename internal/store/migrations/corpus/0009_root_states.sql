-- How the last reading of a root went, as text that only package documents understands. What its owner says stays in source.
ALTER TABLE roots ADD COLUMN state TEXT NOT NULL DEFAULT '';
