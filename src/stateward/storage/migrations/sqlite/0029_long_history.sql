-- What is asked of a store with millions of finished records must not read all of them: which records name a document,
-- which messages and mails are about a record (both to erase), and which outputs are editions (at every start).
CREATE INDEX records_artifact ON records (artifact, id) WHERE artifact IS NOT NULL;
CREATE INDEX deliveries_record ON deliveries (record_id) WHERE record_id IS NOT NULL;
CREATE INDEX alerts_record ON alerts (record_id);
CREATE INDEX outputs_editions ON outputs (record_id, version) WHERE version < 0;
