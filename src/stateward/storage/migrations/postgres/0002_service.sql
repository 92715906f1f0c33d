-- What the HTTP door needs: keys, answers that are given again, and bulk actions.
-- The runners' role is granted none of it.

-- The secret itself is nowhere: only its SHA-256. pipelines is a JSON array of machines; empty means all.
CREATE TABLE api_keys (
    id text COLLATE "C" PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    role text COLLATE "C" NOT NULL,
    pipelines json NOT NULL,
    secret_hash text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    created_by text COLLATE "C" NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    used_at bigint,
    rate_per_minute bigint,
    upload_bytes_max bigint
) WITH (fillfactor = 85);

-- One row for each Idempotency-Key of each caller, written together with what the request did.
CREATE TABLE answers (
    caller text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    status bigint NOT NULL,
    headers json NOT NULL,
    body text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (caller, key)
);
CREATE INDEX answers_at ON answers (at);

-- A bulk action. `after` is the last record it came to, so that any process can go on from there.
CREATE TABLE batches (
    id text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    verb text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    query text COLLATE "C" NOT NULL,
    query_at bigint NOT NULL,
    ids json NOT NULL,
    pipelines json NOT NULL,
    actor text COLLATE "C" NOT NULL,
    reason text COLLATE "C",
    after text COLLATE "C" NOT NULL,
    expected bigint NOT NULL,
    matched bigint NOT NULL,
    applied bigint NOT NULL,
    refused json NOT NULL,
    examples json NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX batches_running ON batches (id) WHERE status = 'running';
