-- Decisions of people that are not in effect yet: one a record, for one version of it.
CREATE TABLE pending_decisions (
    record_id TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    request TEXT NOT NULL,
    at INTEGER NOT NULL,
    effective_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX pending_decisions_due ON pending_decisions (effective_at);
