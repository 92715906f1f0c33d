-- Who is told of what, what was delivered, what was mailed, and what was counted.
-- Times are whole microseconds of UTC since 1970. It runs with the schema `stateward` as its search_path.
-- The runners' role sees none of these tables.

CREATE TABLE webhooks (
    id text COLLATE "C" PRIMARY KEY,
    url text COLLATE "C" NOT NULL,
    events json NOT NULL,
    content text COLLATE "C" NOT NULL,
    secret text COLLATE "C" NOT NULL,
    old_secret text COLLATE "C",
    old_until bigint,
    is_enabled boolean NOT NULL,
    disabled_reason text COLLATE "C",
    origin text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    since bigint NOT NULL,
    rests_until bigint NOT NULL
);

-- One row a message and endpoint. due_at is the next attempt; NULL: delivered, or dead.
CREATE TABLE deliveries (
    webhook_id text COLLATE "C" NOT NULL,
    message_id text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    record_id text COLLATE "C",
    version bigint,
    body text COLLATE "C" NOT NULL,
    trace text COLLATE "C",
    created_at bigint NOT NULL,
    state text COLLATE "C" NOT NULL,
    attempts bigint NOT NULL,
    tries bigint NOT NULL,
    due_at bigint,
    ended_at bigint,
    status bigint,
    error text COLLATE "C",
    PRIMARY KEY (webhook_id, message_id)
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000);
CREATE INDEX deliveries_due ON deliveries (webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_next ON deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_listed ON deliveries (created_at, message_id, webhook_id);
CREATE INDEX deliveries_dead ON deliveries (created_at, message_id, webhook_id) WHERE state = 'dead';
CREATE INDEX deliveries_ended ON deliveries (ended_at) WHERE ended_at IS NOT NULL;

-- What was sent and what was answered, each attempt. No signature and no cookie is kept.
CREATE TABLE delivery_attempts (
    webhook_id text COLLATE "C" NOT NULL,
    message_id text COLLATE "C" NOT NULL,
    attempt bigint NOT NULL,
    at bigint NOT NULL,
    duration_ms bigint NOT NULL,
    url text COLLATE "C" NOT NULL,
    address text COLLATE "C" NOT NULL,
    request_headers json NOT NULL,
    status bigint,
    error text COLLATE "C" NOT NULL,
    response_headers json NOT NULL,
    response_body text COLLATE "C" NOT NULL,
    PRIMARY KEY (webhook_id, message_id, attempt)
);

-- Mail for the admin: one row an occurrence. due_at is the next attempt; NULL: sent, or given up.
CREATE TABLE letters (
    id text COLLATE "C" PRIMARY KEY,
    topic text COLLATE "C" NOT NULL,
    record_id text COLLATE "C" NOT NULL,
    machine text COLLATE "C" NOT NULL,
    facts json NOT NULL,
    created_at bigint NOT NULL,
    attempts bigint NOT NULL,
    due_at bigint,
    sent_at bigint,
    error text COLLATE "C"
);
CREATE INDEX letters_due ON letters (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX letters_sent ON letters (sent_at) WHERE sent_at IS NOT NULL;

-- How far those came who follow the log of transitions.
CREATE TABLE followers (
    name text COLLATE "C" PRIMARY KEY,
    seq bigint NOT NULL
);
INSERT INTO followers VALUES ('notices', 0), ('metrics', 0);

-- What metrics count, summed up: it follows from the log up to the place of the follower `metrics`.
CREATE TABLE tallies (
    metric text COLLATE "C" NOT NULL,
    labels text COLLATE "C" NOT NULL,
    bucket bigint NOT NULL,
    count bigint NOT NULL,
    total bigint NOT NULL,
    PRIMARY KEY (metric, labels, bucket)
);
