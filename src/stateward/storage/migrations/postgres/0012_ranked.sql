-- Ranked search: the documents of the machines that declare it, and their terms in segments.
-- The runners' role is granted none of it.
-- Numbers are given by machine, in the order of indexing. A document that is gone leaves its number in the segments;
-- what has no row here is not found.
CREATE TABLE search_documents (
    machine text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    record_id text COLLATE "C" NOT NULL,
    stage text COLLATE "C" NOT NULL,
    title text COLLATE "C" NOT NULL,
    facts text COLLATE "C" NOT NULL,
    PRIMARY KEY (machine, number)
);
CREATE UNIQUE INDEX search_documents_record ON search_documents (record_id, stage);

-- Documents first to last, and the lengths of their fields (base64).
CREATE TABLE search_segments (
    machine text COLLATE "C" NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    lengths text COLLATE "C" NOT NULL,
    PRIMARY KEY (machine, first)
);

-- The documents of a segment that have a term, with how often it occurs in each field (base64).
CREATE TABLE search_postings (
    machine text COLLATE "C" NOT NULL,
    term text COLLATE "C" NOT NULL,
    first bigint NOT NULL,
    count bigint NOT NULL,
    postings text COLLATE "C" NOT NULL,
    PRIMARY KEY (machine, term, first)
);

CREATE FUNCTION delete_search_documents() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    DELETE FROM stateward.search_documents WHERE record_id = old.id;
    RETURN NULL;
END
$body$;
CREATE TRIGGER records_deleted_ranked AFTER DELETE ON records
    FOR EACH ROW EXECUTE FUNCTION delete_search_documents();
