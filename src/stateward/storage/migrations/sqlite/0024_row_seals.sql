-- Each is sealed by a digest in the audit log, which has the salt in it: erased with the row, it leaves nothing to guess from.
ALTER TABLE dispositions ADD COLUMN salt TEXT;
ALTER TABLE dead_letters ADD COLUMN salt TEXT;
