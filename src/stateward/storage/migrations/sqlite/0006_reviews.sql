-- Reviews: who looks at what just now. Sequencing from outside: who asked for the stage that comes next.
-- Times are whole microseconds of UTC since 1970.

-- Like `waiting` and `worker`: it may change without a transition, and the next transition tells of it.
ALTER TABLE records ADD COLUMN asked_by TEXT;

-- One row a record that somebody has taken up. It counts for this version of the record, until its time is over.
CREATE TABLE claims (
    record_id TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
