-- The servers of a cluster: who lives, by the clock of this database alone.
CREATE TABLE servers (
    server_id uuid PRIMARY KEY,                        -- new at every start, and after it was declared dead
    address text NOT NULL CHECK (octet_length(address) BETWEEN 1 AND 2048),
    version text NOT NULL CHECK (octet_length(version) <= 100),
    reads integer NOT NULL,                            -- the newest format of a home that it reads
    load real NOT NULL DEFAULT 0,                      -- works under way
    draining boolean NOT NULL DEFAULT false,
    dead boolean NOT NULL DEFAULT false,               -- never false again
    alive_until timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Which homes a dead server owned.
CREATE INDEX homes_owner ON homes (owner);
