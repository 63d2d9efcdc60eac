-- Appends facts of any sessions of a home, all or none, and returns the number of the last change then; null if the home is not its
-- owner's under this fence, or has not reached this number. It is a function because a session of the database keeps the plans of one:
-- to plan the statements anew costs as much as to run them, and a statement that is prepared under a name does not pass through every
-- pooler. Facts that are not synced may be lost in a crash of the database.
CREATE FUNCTION append_facts(own_home uuid, own_fence bigint, own_owner uuid, least_no bigint, sessions text[], numbers bigint[],
    bodies bytea[], is_synced boolean) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    reached bigint;
BEGIN
    UPDATE homes SET last_no = last_no + cardinality(numbers)
        WHERE home_id = own_home AND fence = own_fence AND owner = own_owner AND last_no >= least_no
        RETURNING last_no INTO reached;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF NOT is_synced THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    INSERT INTO facts (home_id, session_id, seq, home_no, fence, body)
        SELECT own_home, t.session, t.number, reached - cardinality(numbers) + t.at, own_fence, t.body
        FROM unnest(sessions, numbers, bodies) WITH ORDINALITY AS t (session, number, body, at);
    RETURN reached;
END
$$;
