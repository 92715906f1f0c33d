-- Full-text search: passages of the text that pipelines declare searchable, and where the indexer is.

CREATE TABLE search_texts (
    id INTEGER PRIMARY KEY,
    record_id TEXT NOT NULL,
    stage TEXT NOT NULL,
    item INTEGER NOT NULL,
    title TEXT NOT NULL,
    place TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE INDEX search_texts_record ON search_texts (record_id, stage);

-- Folded words and tags, in the order of the text. The words come folded and apart, so nothing but spaces separates
-- them; the text itself is stored once, above.
CREATE VIRTUAL TABLE search_index USING fts5(
    terms, content = '', contentless_delete = 1, tokenize = 'ascii'
);
CREATE TRIGGER search_texts_deleted AFTER DELETE ON search_texts BEGIN
    DELETE FROM search_index WHERE rowid = old.id;
END;

-- By whatever statement a record is deleted, its text cannot be found any more.
CREATE TRIGGER records_deleted_search AFTER DELETE ON records BEGIN
    DELETE FROM search_texts WHERE record_id = old.id;
END;

-- seq is the last transition that was read. The rest is the output that is being indexed; record_id '': none.
CREATE TABLE search_cursor (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq INTEGER NOT NULL,
    record_id TEXT NOT NULL,
    stage TEXT NOT NULL,
    version INTEGER NOT NULL,
    chunk INTEGER NOT NULL,
    item INTEGER NOT NULL,
    declared TEXT NOT NULL
) STRICT;
INSERT INTO search_cursor VALUES (1, 0, '', '', 0, 0, 0, '');
