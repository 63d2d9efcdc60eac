-- The account whose home it is; null for the home of the server.
ALTER TABLE homes ADD COLUMN account text UNIQUE CHECK (account ~ '^[a-z0-9]{1,64}$');
