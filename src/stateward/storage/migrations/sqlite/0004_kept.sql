-- What a stage of a record must not lose between its attempts: an answer that was paid for.
CREATE TABLE kept (
    record_id TEXT NOT NULL,
    stage TEXT NOT NULL,
    name TEXT NOT NULL,
    data TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (record_id, stage, name)
) STRICT, WITHOUT ROWID;
