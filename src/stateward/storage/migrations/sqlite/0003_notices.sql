-- Who is told of what, what was delivered, what was mailed, and what was counted.
-- Times are whole microseconds of UTC since 1970.

CREATE TABLE webhooks (
    id TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    events TEXT NOT NULL,
    content TEXT NOT NULL,
    secret TEXT NOT NULL,
    old_secret TEXT,
    old_until INTEGER,
    is_enabled INTEGER NOT NULL,
    disabled_reason TEXT,
    origin TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    since INTEGER NOT NULL,
    rests_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row a message and endpoint. due_at is the next attempt; NULL: delivered, or dead.
CREATE TABLE deliveries (
    webhook_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    type TEXT NOT NULL,
    record_id TEXT,
    version INTEGER,
    body TEXT NOT NULL,
    trace TEXT,
    created_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    due_at INTEGER,
    ended_at INTEGER,
    status INTEGER,
    error TEXT,
    PRIMARY KEY (webhook_id, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_next ON deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_listed ON deliveries (created_at, message_id, webhook_id);
CREATE INDEX deliveries_dead ON deliveries (created_at, message_id, webhook_id) WHERE state = 'dead';
CREATE INDEX deliveries_ended ON deliveries (ended_at) WHERE ended_at IS NOT NULL;

-- What was sent and what was answered, each attempt. No signature and no cookie is kept.
CREATE TABLE delivery_attempts (
    webhook_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    at INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    url TEXT NOT NULL,
    address TEXT NOT NULL,
    request_headers TEXT NOT NULL,
    status INTEGER,
    error TEXT NOT NULL,
    response_headers TEXT NOT NULL,
    response_body TEXT NOT NULL,
    PRIMARY KEY (webhook_id, message_id, attempt)
) STRICT, WITHOUT ROWID;

-- Mail for the admin: one row an occurrence. due_at is the next attempt; NULL: sent, or given up.
CREATE TABLE letters (
    id TEXT PRIMARY KEY,
    topic TEXT NOT NULL,
    record_id TEXT NOT NULL,
    machine TEXT NOT NULL,
    facts TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    due_at INTEGER,
    sent_at INTEGER,
    error TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX letters_due ON letters (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX letters_sent ON letters (sent_at) WHERE sent_at IS NOT NULL;

-- How far those came who follow the log of transitions.
CREATE TABLE followers (
    name TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO followers VALUES ('notices', 0), ('metrics', 0);

-- What metrics count, summed up: it follows from the log up to the place of the follower `metrics`.
CREATE TABLE tallies (
    metric TEXT NOT NULL,
    labels TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    count INTEGER NOT NULL,
    total INTEGER NOT NULL,
    PRIMARY KEY (metric, labels, bucket)
) STRICT, WITHOUT ROWID;
