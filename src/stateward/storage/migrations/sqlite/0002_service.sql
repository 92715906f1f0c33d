-- What the HTTP door needs: keys, answers that are given again, and bulk actions.

-- The secret itself is nowhere: only its SHA-256. pipelines is a JSON array of machines; empty means all.
CREATE TABLE api_keys (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    pipelines TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    used_at INTEGER,
    rate_per_minute INTEGER,
    upload_bytes_max INTEGER
) STRICT, WITHOUT ROWID;

-- One row for each Idempotency-Key of each caller, written together with what the request did.
CREATE TABLE answers (
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    status INTEGER NOT NULL,
    headers TEXT NOT NULL,
    body TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (caller, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX answers_at ON answers (at);

-- A bulk action. `after` is the last record it came to, so that any process can go on from there.
CREATE TABLE batches (
    id TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    verb TEXT NOT NULL,
    status TEXT NOT NULL,
    query TEXT NOT NULL,
    query_at INTEGER NOT NULL,
    ids TEXT NOT NULL,
    pipelines TEXT NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT,
    after TEXT NOT NULL,
    expected INTEGER NOT NULL,
    matched INTEGER NOT NULL,
    applied INTEGER NOT NULL,
    refused TEXT NOT NULL,
    examples TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX batches_running ON batches (id) WHERE status = 'running';
