-- Views of the list of records that people saved in the console, by key.
CREATE TABLE saved_views (
    owner text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    query text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (owner, name)
);
