-- Links that let a named person decide one review. Of the secret only its SHA-256 is stored. `version` is that of the
-- record when the link was made: a decision after it ends the link. `key_id` is '' where no key made it.
CREATE TABLE review_links (
    id text COLLATE "C" PRIMARY KEY,
    secret_hash text COLLATE "C" NOT NULL,
    record_id text COLLATE "C" NOT NULL,
    machine text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    person text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    created_by text COLLATE "C" NOT NULL,
    key_id text COLLATE "C" NOT NULL,
    expires_at bigint NOT NULL,
    opened_at bigint,
    revoked_at bigint
);
CREATE INDEX review_links_record ON review_links (record_id);
CREATE INDEX review_links_expiry ON review_links (expires_at);
