-- Links that let a named person decide one review. Of the secret only its SHA-256 is stored. `version` is that of the
-- record when the link was made: a decision after it ends the link. `key_id` is '' where no key made it.
CREATE TABLE review_links (
    id TEXT PRIMARY KEY,
    secret_hash TEXT NOT NULL,
    record_id TEXT NOT NULL,
    machine TEXT NOT NULL,
    version INTEGER NOT NULL,
    person TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    key_id TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    opened_at INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX review_links_record ON review_links (record_id);
CREATE INDEX review_links_expiry ON review_links (expires_at);
