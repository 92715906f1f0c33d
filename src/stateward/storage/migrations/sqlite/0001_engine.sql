-- Records, their history, and the work and events that move them.
-- Times are whole microseconds of UTC since 1970; *_hash and head are SHA-256 in hex.

CREATE TABLE records (
    id TEXT PRIMARY KEY,
    machine TEXT NOT NULL,
    machine_version INTEGER NOT NULL,
    status TEXT NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    entered_at INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    waiting TEXT,
    due_at INTEGER,
    worker TEXT,
    retry_count INTEGER NOT NULL,
    last_retry_at INTEGER,
    failed_from TEXT,
    error_code TEXT,
    error_message TEXT,
    rest TEXT,
    artifact TEXT,
    dedupe TEXT,
    replaces TEXT,
    labels TEXT NOT NULL,
    fields TEXT NOT NULL,
    outputs TEXT NOT NULL,
    head TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Hot queries touch live records only: these two indexes do not grow with history.
CREATE INDEX records_waiting ON records (machine, waiting, rank) WHERE waiting IS NOT NULL;
CREATE INDEX records_due ON records (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX records_status ON records (machine, status, id);
CREATE INDEX records_errors ON records (machine, error_code) WHERE error_code IS NOT NULL;
CREATE UNIQUE INDEX records_dedupe ON records (machine, dedupe) WHERE dedupe IS NOT NULL;

-- event_id is kept only where it does not follow from record, version and trigger.
CREATE TABLE transitions (
    seq INTEGER PRIMARY KEY,
    record_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    machine TEXT NOT NULL,
    machine_version INTEGER NOT NULL,
    source TEXT,
    target TEXT NOT NULL,
    event_id TEXT,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    trigger TEXT NOT NULL,
    attempt INTEGER,
    metadata TEXT NOT NULL,
    authority TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    record_hash TEXT NOT NULL,
    prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX transitions_record ON transitions (record_id, version);
CREATE UNIQUE INDEX transitions_event ON transitions (event_id) WHERE event_id IS NOT NULL;

CREATE TABLE anchor (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    count INTEGER NOT NULL,
    head TEXT NOT NULL,
    digest TEXT NOT NULL,
    epoch INTEGER NOT NULL
) STRICT;
INSERT INTO anchor VALUES (1, 0, printf('%064d', 0), printf('%064d', 0), 0);

CREATE TABLE effects (
    record_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    settled_at INTEGER,
    PRIMARY KEY (record_id, version, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX effects_open ON effects (created_at) WHERE settled_at IS NULL;

CREATE TABLE dispositions (
    id INTEGER PRIMARY KEY,
    event_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    record_id TEXT NOT NULL,
    version INTEGER,
    actor TEXT NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX dispositions_record ON dispositions (record_id);

CREATE TABLE dead_letters (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE TABLE machines (
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    document TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;

-- stage '' means every stage of the machine.
CREATE TABLE pauses (
    machine TEXT NOT NULL,
    stage TEXT NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT,
    PRIMARY KEY (machine, stage)
) STRICT, WITHOUT ROWID;

-- worker '' means that its worker was lost and it waits for another.
CREATE TABLE work (
    record_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    worker TEXT NOT NULL,
    delivery INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    is_inline INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (record_id, version)
) STRICT, WITHOUT ROWID;
CREATE INDEX work_worker ON work (worker, rank);

CREATE TABLE events (
    seq INTEGER PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE workers (
    id TEXT PRIMARY KEY,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    life TEXT NOT NULL,
    runners TEXT NOT NULL,
    slots INTEGER NOT NULL,
    inline_slots INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    is_draining INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE outputs (
    record_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    stage TEXT NOT NULL,
    outcome TEXT NOT NULL,
    count INTEGER NOT NULL,
    facts TEXT NOT NULL,
    error_code TEXT,
    error_message TEXT,
    is_retryable INTEGER NOT NULL,
    worker TEXT NOT NULL,
    at INTEGER NOT NULL,
    log TEXT NOT NULL,
    PRIMARY KEY (record_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE item_chunks (
    record_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    count INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (record_id, version, chunk)
) STRICT, WITHOUT ROWID;
