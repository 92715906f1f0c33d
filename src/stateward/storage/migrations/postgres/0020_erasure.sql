-- A salt lets the metadata of a transition be erased without breaking the chain: what is hashed is a commitment.
-- Transitions that were there before have none.
ALTER TABLE transitions ADD COLUMN salt text COLLATE "C";

-- Records that nothing may be deleted of, by whom and why.
CREATE TABLE holds (
    record_id text COLLATE "C" PRIMARY KEY,
    at bigint NOT NULL,
    actor text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL
);
