-- What the console needs: who is signed in, links that sign in once, errors that were seen, and what people did
-- that moved no record.

-- Of a token only its SHA-256 is kept.
CREATE TABLE sessions (
    token_hash TEXT PRIMARY KEY,
    key_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE links (
    token_hash TEXT PRIMARY KEY,
    key_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX links_expiry ON links (expires_at);

-- A cause that somebody has seen; it counts again when a record fails of it later than `at`.
CREATE TABLE acknowledged (
    machine TEXT NOT NULL,
    cause TEXT NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT,
    PRIMARY KEY (machine, cause)
) STRICT, WITHOUT ROWID;

-- record_id is '' where the act concerns no single record.
CREATE TABLE acts (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    verb TEXT NOT NULL,
    record_id TEXT NOT NULL,
    detail TEXT NOT NULL,
    reason TEXT
) STRICT;
CREATE INDEX acts_record ON acts (record_id, id);
