-- Tables under the names that the code and the documentation use for what they hold. No row is touched.
ALTER TABLE tallies RENAME TO counters;
ALTER TABLE kept RENAME TO saved_values;
ALTER TABLE acts RENAME TO audit_log;
ALTER INDEX acts_record RENAME TO audit_log_record;

-- The grants themselves follow the tables; the function names them anew for a role that is created later.
CREATE OR REPLACE FUNCTION grant_to_runners() RETURNS void LANGUAGE sql AS $body$
    GRANT USAGE ON SCHEMA stateward TO stateward_runner;
    GRANT SELECT ON stateward.schema_migrations, stateward.machines TO stateward_runner;
    GRANT SELECT, DELETE, UPDATE (worker) ON stateward.work TO stateward_runner;
    GRANT SELECT, INSERT ON stateward.events, stateward.outputs, stateward.item_chunks, stateward.saved_values
        TO stateward_runner;
    GRANT USAGE ON SEQUENCE stateward.events_seq_seq TO stateward_runner;
    GRANT SELECT, INSERT, UPDATE, DELETE ON stateward.workers TO stateward_runner;
$body$;
