-- Vectors of ranked documents, in the order of indexing. `chain` covers a row and all before it, so that a copy of the
-- table in a file can be told from one of another table. A row of a record that is gone is emptied, never deleted: the
-- numbers of the rows are places in that file.
CREATE TABLE search_vectors (
    machine TEXT NOT NULL,
    id INTEGER NOT NULL,
    record_id TEXT NOT NULL,
    stage TEXT NOT NULL,
    item INTEGER NOT NULL,
    model TEXT NOT NULL,
    vector TEXT NOT NULL,
    chain TEXT NOT NULL,
    PRIMARY KEY (machine, id)
) STRICT;
CREATE INDEX search_vectors_record ON search_vectors (record_id, stage);
CREATE TRIGGER records_deleted_vectors AFTER DELETE ON records BEGIN
    UPDATE search_vectors SET record_id = '', vector = '' WHERE record_id = old.id;
END;
