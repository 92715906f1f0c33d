-- Uploads that were refused, with the reason, until the person who sent them dismisses them.
CREATE TABLE refused_uploads (
    id text COLLATE "C" PRIMARY KEY,
    owner text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    problem text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL,
    at bigint NOT NULL
);
CREATE INDEX refused_uploads_owner ON refused_uploads (owner, at);
