-- What a stage of a record must not lose between its attempts: an answer that was paid for.
CREATE TABLE kept (
    record_id text COLLATE "C" NOT NULL,
    stage text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    data text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (record_id, stage, name)
);

-- The same as before, what its stages keep, and giving back work that was not begun.
CREATE OR REPLACE FUNCTION grant_to_runners() RETURNS void LANGUAGE sql AS $body$
    GRANT USAGE ON SCHEMA stateward TO stateward_runner;
    GRANT SELECT ON stateward.schema_migrations, stateward.machines TO stateward_runner;
    GRANT SELECT, DELETE, UPDATE (worker) ON stateward.work TO stateward_runner;
    GRANT SELECT, INSERT ON stateward.events, stateward.outputs, stateward.item_chunks, stateward.kept
        TO stateward_runner;
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
