-- The last commit of files, by which a copy knows whether it is behind.
ALTER TABLE homes ADD COLUMN files_commit uuid;

-- A piece is deleted only when no file names it.
CREATE INDEX files_pieces ON files USING gin (pieces);
