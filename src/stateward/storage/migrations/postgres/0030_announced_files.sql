-- Derived files whose bytes are about to be stored: written before them, so that the bytes of an attempt that is lost
-- afterwards are known to belong to a record.
CREATE TABLE announced_files (
    sha256 text COLLATE "C" NOT NULL,
    record_id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (sha256, record_id, at)
);
CREATE INDEX announced_files_record ON announced_files (record_id);
CREATE INDEX announced_files_at ON announced_files (at);
CREATE OR REPLACE FUNCTION grant_to_runners() RETURNS void LANGUAGE sql AS $body$
    GRANT USAGE ON SCHEMA stateward TO stateward_runner;
    GRANT SELECT ON stateward.schema_migrations, stateward.machines TO stateward_runner;
    GRANT SELECT, DELETE, UPDATE (worker, loss) ON stateward.work TO stateward_runner;
    GRANT SELECT, INSERT ON stateward.events, stateward.outputs, stateward.item_chunks, stateward.saved_values,
        stateward.derived_files, stateward.announced_files TO stateward_runner;
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
