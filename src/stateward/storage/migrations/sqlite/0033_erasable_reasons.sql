-- The reason of an act about a record is sealed as a commitment, so that it can be erased with the record. An older version,
-- which seals the reason itself, must not write to this store any more.
ALTER TABLE audit_log ADD COLUMN salt TEXT;
ALTER TABLE audit_log ADD COLUMN reason_hash TEXT;
