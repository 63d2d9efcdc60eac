-- Libraries that are indexed and searched in the database: caches of the files of a home, which can be made again.
CREATE TABLE libraries (
    library_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    home_id uuid NOT NULL REFERENCES homes ON DELETE CASCADE,
    name text NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 255),
    tag text NOT NULL,                       -- the version and the settings of what indexed it
    fence bigint NOT NULL,                   -- of the claim under which it is written: no other one writes it
    complete boolean NOT NULL DEFAULT false, -- whether everything was indexed once, so that it is searched
    chunks bigint NOT NULL DEFAULT 0,
    length bigint NOT NULL DEFAULT 0,        -- words of all chunks
    windows bigint NOT NULL DEFAULT 0,       -- sum of the lengths of windows, in 1024ths of a word
    centres bigint NOT NULL DEFAULT 0,       -- windows
    embedded bigint NOT NULL DEFAULT 0,      -- chunks that have a vector
    model text,                              -- whose vectors it has, of this dimension
    dimension integer,
    UNIQUE (home_id, name)
);

-- Each library has tables of its own, library_{id}_files, _chunks, _terms and _vectors, so that an index contains nothing of
-- another one and a library is removed at once. They go when its row goes, whatever removes that.
CREATE FUNCTION drop_library() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    part text;
BEGIN
    FOREACH part IN ARRAY ARRAY['files', 'chunks', 'terms', 'vectors'] LOOP
        EXECUTE format('DROP TABLE IF EXISTS %I', 'library_' || OLD.library_id || '_' || part);
    END LOOP;
    RETURN NULL;
END
$$;
CREATE TRIGGER drop_library AFTER DELETE ON libraries FOR EACH ROW EXECUTE FUNCTION drop_library();
