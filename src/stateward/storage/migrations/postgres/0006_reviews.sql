-- Reviews: who looks at what just now. Sequencing from outside: who asked for the stage that comes next.
-- Times are whole microseconds of UTC since 1970. The runners' role sees nothing of it.

-- Like `waiting` and `worker`: it may change without a transition, and the next transition tells of it.
ALTER TABLE records ADD COLUMN asked_by text COLLATE "C";

-- One row a record that somebody has taken up. It counts for this version of the record, until its time is over.
CREATE TABLE claims (
    record_id text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    actor text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    until bigint NOT NULL
) WITH (fillfactor = 50);
