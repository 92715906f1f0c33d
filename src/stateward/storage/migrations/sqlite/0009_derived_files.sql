-- The files that a stage derived from a document; the bytes are artifacts, stored under their SHA-256.
CREATE TABLE derived_files (
    record_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    name TEXT NOT NULL,
    number INTEGER NOT NULL,
    stage TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (record_id, version, name)
) STRICT, WITHOUT ROWID;
-- For what asks whether an artifact is still named by a record.
CREATE INDEX derived_files_sha256 ON derived_files (sha256);
