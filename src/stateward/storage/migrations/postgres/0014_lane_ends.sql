-- Lanes are extended by the last statements of a transaction, which arrive together with its COMMIT: they are locked
-- for no round trip.

-- The numbers of lanes in their order, how many hashes each gets, and the hashes of all of them in that order.
CREATE FUNCTION extend_lanes(numbers bigint[], counts bigint[], hashes text[]) RETURNS void LANGUAGE plpgsql AS $body$
DECLARE
    place int := 0;
    missing bigint := 0;
    value text;
    one text;
BEGIN
    FOREACH one IN ARRAY hashes LOOP
        IF missing = 0 THEN
            place := place + 1;
            missing := counts[place];
            SELECT l.head INTO value FROM stateward.lanes AS l WHERE l.lane = numbers[place] FOR UPDATE;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'lane % is missing', numbers[place] USING ERRCODE = 'data_corrupted';
            END IF;
        END IF;
        value := encode(sha256(convert_to(value || one, 'UTF8')), 'hex');
        missing := missing - 1;
        IF missing = 0 THEN
            UPDATE stateward.lanes AS l SET count = l.count + counts[place], head = value
            WHERE l.lane = numbers[place];
        END IF;
    END LOOP;
END
$body$;

-- The epoch is sealed in a transition before its lane is locked. It must not rise in between, so what is written
-- holds it, together with others, until its transaction ends.
CREATE FUNCTION hold_epoch() RETURNS bigint LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(5461079::bigint << 40 | 1099511627775);
    RETURN (SELECT max(epoch) FROM stateward.lanes);
END
$body$;
CREATE VIEW current_epoch AS SELECT hold_epoch() AS epoch;
CREATE FUNCTION change_epoch() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    PERFORM pg_advisory_xact_lock(5461079::bigint << 40 | 1099511627775);
    RETURN NULL;
END
$body$;
CREATE TRIGGER lanes_epoch BEFORE UPDATE OF epoch ON lanes FOR EACH STATEMENT EXECUTE FUNCTION change_epoch();
