-- A salt lets the metadata of a transition be erased without breaking the chain: what is hashed is a commitment.
-- Transitions that were there before have none.
ALTER TABLE transitions ADD COLUMN salt TEXT;

-- Records that nothing may be deleted of, by whom and why.
CREATE TABLE holds (
    record_id TEXT PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT NOT NULL
) STRICT, WITHOUT ROWID;
