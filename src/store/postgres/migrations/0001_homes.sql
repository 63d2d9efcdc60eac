-- Homes: what happened in their sessions, and their files.

-- A home is owned by one server at a time. Every write compares fence and owner in the same transaction.
CREATE TABLE homes (
    home_id uuid PRIMARY KEY,
    owner uuid,                          -- the start of a server that owns the home; another one at each start
    last_owner uuid,                     -- the owner before it
    fence bigint NOT NULL DEFAULT 0,     -- one higher at each claim
    last_no bigint NOT NULL DEFAULT 0,   -- the number of the last change; never falls
    format integer NOT NULL DEFAULT 1    -- the lowest format that reads everything in the home
) WITH (fillfactor = 50);

-- What happened in a session since its file was written: one row for each line of its journal.
CREATE TABLE facts (
    home_id uuid NOT NULL,
    session_id text NOT NULL CHECK (octet_length(session_id) BETWEEN 1 AND 255),
    seq bigint NOT NULL,
    home_no bigint NOT NULL,
    fence bigint NOT NULL,
    body bytea NOT NULL CHECK (octet_length(body) <= 67108864),   -- the line, with its checksum and its line feed
    PRIMARY KEY (home_id, session_id, seq)
) PARTITION BY HASH (home_id);
CREATE INDEX facts_in_order ON facts (home_id, home_no);

DO $$
BEGIN
    FOR part IN 0..15 LOOP
        EXECUTE format('CREATE TABLE facts_%s PARTITION OF facts FOR VALUES WITH (MODULUS 16, REMAINDER %s)', part, part);
    END LOOP;
END
$$;

-- The files, folders and links of a home as they are now. A file is its pieces, one after the other.
CREATE TABLE files (
    home_id uuid NOT NULL REFERENCES homes,
    path bytea NOT NULL CHECK (octet_length(path) BETWEEN 1 AND 4096),
    kind smallint NOT NULL CHECK (kind IN (0, 1, 2)),             -- folder, file, link
    mode integer NOT NULL,
    size bigint NOT NULL,
    modified bigint NOT NULL,                                     -- nanoseconds since 1970
    pieces bytea[] NOT NULL,                                      -- SHA-256 of each piece; of a link, of its target
    changed_no bigint NOT NULL,
    PRIMARY KEY (home_id, path)
);
CREATE INDEX files_changed ON files (home_id, changed_no);

-- Each piece once in a home: one person's files must not tell another person that they exist.
CREATE TABLE pieces (
    home_id uuid NOT NULL REFERENCES homes,
    sha256 bytea NOT NULL CHECK (octet_length(sha256) = 32),
    bytes bytea NOT NULL CHECK (octet_length(bytes) <= 1048576),  -- compressed by zstd
    PRIMARY KEY (home_id, sha256)
);
ALTER TABLE pieces ALTER COLUMN bytes SET STORAGE EXTERNAL;
