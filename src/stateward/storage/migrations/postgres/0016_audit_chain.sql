-- Each entry of the audit log is bound to the one before it. Entries of former versions have no place in the chain.
ALTER TABLE audit_log ADD COLUMN seq bigint;
ALTER TABLE audit_log ADD COLUMN hash text COLLATE "C";
CREATE UNIQUE INDEX audit_log_seq ON audit_log (seq) WHERE seq IS NOT NULL;
CREATE INDEX audit_log_verb ON audit_log (verb, id);

-- One row: how many entries the chain has, and the hash of the last. Who appends takes it first, so that they take turns.
CREATE TABLE audit_head (
    id integer PRIMARY KEY CHECK (id = 1),
    count bigint NOT NULL,
    hash text COLLATE "C" NOT NULL
);
INSERT INTO audit_head VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000');
