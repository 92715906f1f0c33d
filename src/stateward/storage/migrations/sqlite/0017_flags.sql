-- What people decided about flagged results: one a record, for one version of it.
CREATE TABLE flag_decisions (
    record_id TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    reason TEXT,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX records_flagged ON records (machine, entered_at) WHERE (fields ->> 'flags') IS NOT NULL;
