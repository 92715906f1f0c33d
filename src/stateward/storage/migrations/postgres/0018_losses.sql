-- Evidence about the worker that has the work: '' or, as JSON, the loss that counts if that worker or its child dies.
ALTER TABLE work ADD COLUMN loss text COLLATE "C" NOT NULL DEFAULT '';

-- The same as before, and workers write that evidence.
CREATE OR REPLACE FUNCTION grant_to_runners() RETURNS void LANGUAGE sql AS $body$
    GRANT USAGE ON SCHEMA stateward TO stateward_runner;
    GRANT SELECT ON stateward.schema_migrations, stateward.machines TO stateward_runner;
    GRANT SELECT, DELETE, UPDATE (worker, loss) ON stateward.work TO stateward_runner;
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
