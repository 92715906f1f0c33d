-- Credentials of workers behind a transport: for which stages, and the secret that their messages are signed with.
CREATE TABLE worker_keys (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    stages TEXT NOT NULL,
    secret TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
