-- Full-text search: passages of the text that pipelines declare searchable, and where the indexer is.
-- The runners' role is granted none of it.

CREATE TABLE search_texts (
    id bigint PRIMARY KEY,
    record_id text COLLATE "C" NOT NULL,
    stage text COLLATE "C" NOT NULL,
    item bigint NOT NULL,
    title text COLLATE "C" NOT NULL,
    place text COLLATE "C" NOT NULL,
    text text COLLATE "C" NOT NULL,
    terms tsvector NOT NULL
);
CREATE INDEX search_texts_record ON search_texts (record_id, stage);
-- Without a list of pending entries, which every search would have to read besides: the indexer writes in batches.
CREATE INDEX search_texts_terms ON search_texts USING gin (terms) WITH (fastupdate = off);

-- By whatever statement a record is deleted, its text cannot be found any more.
CREATE FUNCTION delete_search_texts() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    DELETE FROM stateward.search_texts WHERE record_id = old.id;
    RETURN NULL;
END
$body$;
CREATE TRIGGER records_deleted_search AFTER DELETE ON records
    FOR EACH ROW EXECUTE FUNCTION delete_search_texts();

-- seq is the last transition that was read. The rest is the output that is being indexed; record_id '': none.
CREATE TABLE search_cursor (
    one bigint PRIMARY KEY CHECK (one = 1),
    seq bigint NOT NULL,
    record_id text COLLATE "C" NOT NULL,
    stage text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    chunk bigint NOT NULL,
    item bigint NOT NULL,
    declared text COLLATE "C" NOT NULL
) WITH (fillfactor = 50);
INSERT INTO search_cursor VALUES (1, 0, '', '', 0, 0, 0, '');
