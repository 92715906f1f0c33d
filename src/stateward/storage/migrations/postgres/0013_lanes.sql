-- The history divided into lanes: one hash chain each over all transitions of its records, in the order of commits.
-- A commit locks the lanes of its records and no others. The chain over the log as it was is closed, and remains as
-- lane -1.

CREATE TABLE lanes (
    lane bigint PRIMARY KEY,
    count bigint NOT NULL,
    head text COLLATE "C" NOT NULL,
    epoch bigint NOT NULL,
    since bigint NOT NULL
) WITH (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
INSERT INTO lanes
SELECT n, 0, repeat('0', 64), epoch, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
FROM anchor, generate_series(0, 15) AS n;
INSERT INTO lanes
SELECT -1, count, digest, epoch, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
FROM anchor WHERE count > 0;
DROP TABLE anchor;

-- Numbers of the log come from a sequence, drawn while the lanes of a commit are locked: they rise within a lane.
CREATE SEQUENCE transitions_numbers OWNED BY transitions.seq;
SELECT setval('transitions_numbers', greatest(max(seq), 1), max(seq) IS NOT NULL) FROM transitions;
ALTER TABLE transitions ALTER COLUMN seq SET DEFAULT nextval('stateward.transitions_numbers');

-- A lower number may become visible after a higher one. So before a transaction draws its first number it announces,
-- with a lock that nothing waits for, that all it will draw are above the last one drawn so far; the lock ends with it.
-- The key is 0x535457 in its upper 24 bits and that number in the lower 40.
CREATE FUNCTION announce_numbers() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM pg_advisory_xact_lock_shared((5461079::bigint << 40) | CASE WHEN is_called THEN last_value ELSE 0 END)
    FROM stateward.transitions_numbers;
    RETURN NULL;
END
$body$;
CREATE TRIGGER transitions_announced BEFORE INSERT ON transitions
    FOR EACH STATEMENT EXECUTE FUNCTION announce_numbers();

-- The newest number is read before the announcements: a transaction that is not among them draws a higher one.
CREATE FUNCTION complete_to() RETURNS bigint LANGUAGE plpgsql AS $body$
DECLARE
    newest bigint;
    announced bigint;
BEGIN
    SELECT CASE WHEN is_called THEN last_value ELSE 0 END INTO newest FROM stateward.transitions_numbers;
    SELECT min(((classid::bigint & 255) << 32) | objid::bigint) INTO announced
    FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND classid::bigint >> 8 = 5461079
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database());
    RETURN least(newest, announced);
END
$body$;
-- A number that was drawn in vain is not the end of the log.
CREATE VIEW log_end AS
SELECT coalesce((SELECT max(seq) FROM transitions WHERE seq <= (SELECT complete_to())), 0) AS seq;
