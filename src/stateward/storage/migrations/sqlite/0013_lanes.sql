-- The history divided into lanes: one hash chain each over all transitions of its records, in the order of commits.
-- The chain over the log as it was is closed, and remains as lane -1.

CREATE TABLE lanes (
    lane INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    head TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    since INTEGER NOT NULL
) STRICT;
INSERT INTO lanes
SELECT 0, 0, printf('%064d', 0), epoch, CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) FROM anchor;
INSERT INTO lanes
SELECT -1, count, digest, epoch, CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)
FROM anchor WHERE count > 0;
DROP TABLE anchor;

-- One writer at a time: what is visible is complete.
CREATE VIEW log_end AS SELECT coalesce(max(seq), 0) AS seq FROM transitions;
