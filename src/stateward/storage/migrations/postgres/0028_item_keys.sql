-- By which keys the items of an attempt can be looked up from other records (`earlier` of a stage). A key is an HMAC of
-- its value under the salt of this database, so that the index holds no value.
CREATE TABLE item_keys (
    key text COLLATE "C" NOT NULL,
    record_id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (key, record_id, version)
);
CREATE INDEX item_keys_record ON item_keys (record_id, version);
CREATE TABLE item_key_salt (
    id bigint PRIMARY KEY CHECK (id = 1),
    salt text COLLATE "C" NOT NULL
);
INSERT INTO item_key_salt (id, salt)
VALUES (1, replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''));
