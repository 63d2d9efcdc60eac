-- By what store.cluster_secret is known; null for a server of an older version. It is the same for all servers of a cluster.
ALTER TABLE servers ADD COLUMN secret bytea;
