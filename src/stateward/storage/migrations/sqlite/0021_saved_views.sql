-- Views of the list of records that people saved in the console, by key.
CREATE TABLE saved_views (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    query TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (owner, name)
) STRICT, WITHOUT ROWID;
