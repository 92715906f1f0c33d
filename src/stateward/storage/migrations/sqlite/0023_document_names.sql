-- By which names (identifiers, title and year) ranked documents are known: those that share one are the same document.
CREATE TABLE search_names (
    machine TEXT NOT NULL,
    name TEXT NOT NULL,
    record_id TEXT NOT NULL,
    stage TEXT NOT NULL,
    PRIMARY KEY (machine, name, record_id, stage)
) STRICT, WITHOUT ROWID;
CREATE INDEX search_names_record ON search_names (record_id, stage);

CREATE TRIGGER records_deleted_names AFTER DELETE ON records BEGIN
    DELETE FROM search_names WHERE record_id = old.id;
END;
