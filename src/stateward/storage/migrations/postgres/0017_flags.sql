-- What people decided about flagged results: one a record, for one version of it.
CREATE TABLE flag_decisions (
    record_id text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    actor text COLLATE "C" NOT NULL,
    action text COLLATE "C" NOT NULL,
    reason text COLLATE "C",
    at bigint NOT NULL
);
CREATE INDEX records_flagged ON records (machine, entered_at) WHERE (fields ->> 'flags') IS NOT NULL;
