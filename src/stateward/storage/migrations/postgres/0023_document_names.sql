-- By which names (identifiers, title and year) ranked documents are known: those that share one are the same document.
-- The runners' role is granted none of it.
CREATE TABLE search_names (
    machine text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    record_id text COLLATE "C" NOT NULL,
    stage text COLLATE "C" NOT NULL,
    PRIMARY KEY (machine, name, record_id, stage)
);
CREATE INDEX search_names_record ON search_names (record_id, stage);

CREATE FUNCTION delete_search_names() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    DELETE FROM stateward.search_names WHERE record_id = old.id;
    RETURN NULL;
END
$body$;
CREATE TRIGGER records_deleted_names AFTER DELETE ON records
    FOR EACH ROW EXECUTE FUNCTION delete_search_names();
