-- Which worker behind a transport has work, as its heartbeats say, and since when; empty: none has said so.
ALTER TABLE work ADD COLUMN holder TEXT NOT NULL DEFAULT '';
ALTER TABLE work ADD COLUMN held_since INTEGER NOT NULL DEFAULT 0;
