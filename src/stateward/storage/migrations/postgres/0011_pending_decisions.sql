-- Decisions of people that are not in effect yet: one a record, for one version of it.
CREATE TABLE pending_decisions (
    record_id text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    actor text COLLATE "C" NOT NULL,
    action text COLLATE "C" NOT NULL,
    request text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    effective_at bigint NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX pending_decisions_due ON pending_decisions (effective_at);
