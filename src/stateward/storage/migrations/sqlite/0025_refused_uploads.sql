-- Uploads that were refused, with the reason, until the person who sent them dismisses them.
CREATE TABLE refused_uploads (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    problem TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX refused_uploads_owner ON refused_uploads (owner, at);
