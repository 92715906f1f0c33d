-- Tables under the names that the code and the documentation use for what they hold. No row is touched.
ALTER TABLE tallies RENAME TO counters;
ALTER TABLE kept RENAME TO saved_values;
ALTER TABLE acts RENAME TO audit_log;
-- SQLite cannot rename an index.
DROP INDEX acts_record;
CREATE INDEX audit_log_record ON audit_log (record_id, id);
