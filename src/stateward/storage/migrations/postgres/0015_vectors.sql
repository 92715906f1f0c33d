-- Vectors of ranked documents, in the order of indexing. `chain` covers a row and all before it, so that a copy of the
-- table in a file can be told from one of another table. A row of a record that is gone is emptied, never deleted: the
-- numbers of the rows are places in that file. The runners' role is granted none of it.
CREATE TABLE search_vectors (
    machine text COLLATE "C" NOT NULL,
    id bigint NOT NULL,
    record_id text COLLATE "C" NOT NULL,
    stage text COLLATE "C" NOT NULL,
    item bigint NOT NULL,
    model text COLLATE "C" NOT NULL,
    vector text COLLATE "C" NOT NULL,
    chain text COLLATE "C" NOT NULL,
    PRIMARY KEY (machine, id)
);
CREATE INDEX search_vectors_record ON search_vectors (record_id, stage);
CREATE FUNCTION empty_search_vectors() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    UPDATE stateward.search_vectors SET record_id = '', vector = '' WHERE record_id = old.id;
    RETURN NULL;
END
$body$;
CREATE TRIGGER records_deleted_vectors AFTER DELETE ON records
    FOR EACH ROW EXECUTE FUNCTION empty_search_vectors();
