-- By which keys the items of an attempt can be looked up from other records (`earlier` of a stage). A key is an HMAC of
-- its value under the salt of this database, so that the index holds no value.
CREATE TABLE item_keys (
    key TEXT NOT NULL,
    record_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (key, record_id, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX item_keys_record ON item_keys (record_id, version);
CREATE TABLE item_key_salt (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    salt TEXT NOT NULL
) STRICT;
INSERT INTO item_key_salt (id, salt) VALUES (1, lower(hex(randomblob(32))));
