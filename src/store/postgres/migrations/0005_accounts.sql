-- The number of the change of accounts.json that a server of a cluster has read last.
ALTER TABLE servers ADD COLUMN accounts_no bigint NOT NULL DEFAULT 0;
-- By what the key of sign-ins is known; null for a server of one person. It is the same for all servers of a cluster.
ALTER TABLE servers ADD COLUMN sign_ins bytea;
