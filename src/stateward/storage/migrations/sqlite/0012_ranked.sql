-- Ranked search: the documents of the machines that declare it, and their terms in segments.
-- Numbers are given by machine, in the order of indexing. A document that is gone leaves its number in the segments;
-- what has no row here is not found.
CREATE TABLE search_documents (
    machine TEXT NOT NULL,
    number INTEGER NOT NULL,
    record_id TEXT NOT NULL,
    stage TEXT NOT NULL,
    title TEXT NOT NULL,
    facts TEXT NOT NULL,
    PRIMARY KEY (machine, number)
) STRICT;
CREATE UNIQUE INDEX search_documents_record ON search_documents (record_id, stage);

-- Documents first to last, and the lengths of their fields (base64).
CREATE TABLE search_segments (
    machine TEXT NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    lengths TEXT NOT NULL,
    PRIMARY KEY (machine, first)
) STRICT;

-- The documents of a segment that have a term, with how often it occurs in each field (base64).
CREATE TABLE search_postings (
    machine TEXT NOT NULL,
    term TEXT NOT NULL,
    first INTEGER NOT NULL,
    count INTEGER NOT NULL,
    postings TEXT NOT NULL,
    PRIMARY KEY (machine, term, first)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER records_deleted_ranked AFTER DELETE ON records BEGIN
    DELETE FROM search_documents WHERE record_id = old.id;
END;
