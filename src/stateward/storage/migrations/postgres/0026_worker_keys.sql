-- Credentials of workers behind a transport: for which stages, and the secret that their messages are signed with.
CREATE TABLE worker_keys (
    id text COLLATE "C" PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    stages text COLLATE "C" NOT NULL,
    secret text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    created_by text COLLATE "C" NOT NULL,
    revoked_at bigint
);
