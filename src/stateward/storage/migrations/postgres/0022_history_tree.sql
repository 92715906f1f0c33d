-- Hashes of the Merkle trees over the lanes and over the audit log (log -2): one row for each complete block of 256 leaves
-- (level 8), of 256 such blocks (level 16), and so on. `seq` is the number in the log of the last leaf. All of it can be
-- computed anew from the log; it spares a proof the reading of everything.
CREATE TABLE history_tree (
    log bigint NOT NULL,
    level bigint NOT NULL,
    place bigint NOT NULL,
    seq bigint NOT NULL,
    hash text COLLATE "C" NOT NULL,
    PRIMARY KEY (log, level, place)
);
