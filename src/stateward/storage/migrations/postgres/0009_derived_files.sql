-- The files that a stage derived from a document; the bytes are artifacts, stored under their SHA-256.
CREATE TABLE derived_files (
    record_id text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    stage text COLLATE "C" NOT NULL,
    media_type text COLLATE "C" NOT NULL,
    size bigint NOT NULL,
    sha256 text COLLATE "C" NOT NULL,
    PRIMARY KEY (record_id, version, name)
);
-- For what asks whether an artifact is still named by a record.
CREATE INDEX derived_files_sha256 ON derived_files (sha256);

-- The same as before, and the files that stages save.
CREATE OR REPLACE FUNCTION grant_to_runners() RETURNS void LANGUAGE sql AS $body$
    GRANT USAGE ON SCHEMA stateward TO stateward_runner;
    GRANT SELECT ON stateward.schema_migrations, stateward.machines TO stateward_runner;
    GRANT SELECT, DELETE, UPDATE (worker) ON stateward.work TO stateward_runner;
    GRANT SELECT, INSERT ON stateward.events, stateward.outputs, stateward.item_chunks, stateward.saved_values,
        stateward.derived_files TO stateward_runner;
    GRANT USAGE ON SEQUENCE stateward.events_seq_seq TO stateward_runner;
    GRANT SELECT, INSERT, UPDATE, DELETE ON stateward.workers TO stateward_runner;
$body$;
DO $body$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'stateward_runner') THEN
        PERFORM grant_to_runners();
    END IF;
END
$body$;
