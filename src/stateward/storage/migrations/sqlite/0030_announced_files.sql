-- Derived files whose bytes are about to be stored: written before them, so that the bytes of an attempt that is lost
-- afterwards are known to belong to a record.
CREATE TABLE announced_files (
    sha256 TEXT NOT NULL,
    record_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (sha256, record_id, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX announced_files_record ON announced_files (record_id);
CREATE INDEX announced_files_at ON announced_files (at);
