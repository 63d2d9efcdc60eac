#!/usr/bin/env bash
# Measures the database's part of searches in a large library: scripts/bench-library.sh CHUNKS [FOLDER].
#
# Makes the tables of a library, as src/store/postgres/library_changes.rs does, with CHUNKS synthetic chunks in a PostgreSQL server of
# its own in FOLDER (default: a folder in /tmp), which it removes at the end. 300,000 chunks need 3 GB of disk, a million 10 GB, and
# up to 8 GB of memory: the graph of the vectors must fit into maintenance_work_mem while it is made.
#
# Vectors: 384 components around one of CHUNKS/150 random centres, noise of the same length as the centre, so neighbours have cosines of
# about .5; questions are made in the same way. Words: about 120 a chunk of 200,000, word n drawn with a probability of about 1/n.
set -euo pipefail
cd "$(dirname "$0")/.."
CHUNKS="${1:?how many chunks, for example 300000}"
FOLDER="${2:-$(mktemp -d /tmp/bench-library-XXXXXX)}"
BIN="${MINICLAW_POSTGRES_BIN:-${CARGO_TARGET_DIR:-target}/tools/postgres/bin}"
[ -x "$BIN/postgres" ] || { echo "there is no PostgreSQL in $BIN; run scripts/install-tools.sh postgres" >&2; exit 1; }
as() { if [ "$(id -u)" -eq 0 ]; then setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; else "$@"; fi; }
mkdir -p "$FOLDER"
[ "$(id -u)" -ne 0 ] || chown 65534:65534 "$FOLDER"
as "$BIN/initdb" -D "$FOLDER/data" -U miniclaw --auth=trust --locale=C -E UTF8 --no-sync >"$FOLDER/initdb.log" 2>&1 || { cat "$FOLDER/initdb.log"; exit 1; }
as "$BIN/pg_ctl" -D "$FOLDER/data" -w -l "$FOLDER/log" start -o "-c listen_addresses='' -k $FOLDER -c shared_buffers=2GB -c maintenance_work_mem=4GB \
  -c max_wal_size=8GB -c fsync=off" >/dev/null
trap 'as "$BIN/pg_ctl" -D "$FOLDER/data" -m immediate stop >/dev/null; rm -rf "$FOLDER"' EXIT
sql() { as "$BIN/psql" -h "$FOLDER" -U miniclaw -d postgres -v ON_ERROR_STOP=1 -qAtX "$@"; }

echo "making $CHUNKS chunks"
sql -v n="$CHUNKS" <<'SQL'
CREATE EXTENSION vector;
CREATE FUNCTION noise(seed float8) RETURNS real[] LANGUAGE sql VOLATILE AS
  $$ SELECT array_agg((random() + random() + random() - 1.5)::real + (seed * 0)::real) FROM generate_series(1, 384) $$;
CREATE TABLE centres AS SELECT i, noise(i)::vector AS v FROM generate_series(1, greatest(:n / 150, 10)) AS i;
CREATE TABLE questions AS SELECT q, l2_normalize(c.v + noise(q)::vector)::halfvec(384) AS v FROM generate_series(1, 100::bigint) AS q
  JOIN centres AS c ON c.i = 1 + (q * 104729) % greatest(:n / 150, 10);
CREATE TABLE library_1_vectors (key bigint PRIMARY KEY, script smallint NOT NULL, v halfvec(384) NOT NULL);
ALTER TABLE library_1_vectors ALTER COLUMN v SET STORAGE PLAIN;
CREATE TABLE library_1_chunks (chunk_id bigint PRIMARY KEY, file_order bigint NOT NULL, key bigint NOT NULL, script smallint NOT NULL,
  words integer NOT NULL, terms bigint[] NOT NULL, sequence bytea NOT NULL, units bytea NOT NULL, start integer NOT NULL,
  first_line integer NOT NULL, last_line integer NOT NULL, body bytea NOT NULL) WITH (toast_tuple_target = 8160);
SQL
# Vectors and words at the same time. Each line of timing names nothing, so each statement says first what it does.
sql -v n="$CHUNKS" >"$FOLDER/vectors" 2>&1 <<'SQL' &
\timing on
\echo making the vectors
INSERT INTO library_1_vectors SELECT k, 1, l2_normalize(c.v + noise(k)::vector)::halfvec FROM generate_series(1, :n::bigint) AS k
  JOIN centres AS c ON c.i = 1 + (k * 7919) % greatest(:n / 150, 10);
\echo indexing them
CREATE INDEX near ON library_1_vectors USING hnsw (v halfvec_cosine_ops) WITH (m = 16, ef_construction = 64);
SQL
vectors=$!
sql -v n="$CHUNKS" <<'SQL'
\timing on
\echo making the words
INSERT INTO library_1_chunks SELECT k, k, k, 1, 160, (SELECT array_agg(DISTINCT (exp(random() * ln(200000)) + (k + g) * 0)::bigint) FROM
  generate_series(1, 160) AS g), decode(repeat('00', 1280), 'hex'), decode(repeat('00', 240), 'hex'), 0, 1, 9, decode(repeat('00', 1200), 'hex')
  FROM generate_series(1, :n::bigint) AS k;
\echo indexing and counting them
CREATE INDEX ON library_1_chunks USING gin (terms);
CREATE INDEX ON library_1_chunks (key);
CREATE TABLE library_1_terms AS SELECT term, count(*) AS chunks FROM library_1_chunks, unnest(terms) AS term GROUP BY term;
SQL
wait "$vectors" || { cat "$FOLDER/vectors"; exit 1; }
cat "$FOLDER/vectors"
sql -c "VACUUM ANALYZE" -c "SELECT 'table and index of vectors, of chunks, of words: ' || concat_ws(', ', pg_size_pretty(pg_table_size('library_1_vectors')),
  pg_size_pretty(pg_relation_size('near')), pg_size_pretty(pg_table_size('library_1_chunks')), pg_size_pretty(pg_relation_size('library_1_chunks_terms_idx')))"

echo "candidates by vectors: recall@50 of the exact scan, and milliseconds"
sql <<'SQL'
SET enable_indexscan = off;
CREATE TABLE exact AS SELECT q, array(SELECT key FROM library_1_vectors AS l ORDER BY l.v <=> questions.v LIMIT 50) AS keys FROM questions;
RESET enable_indexscan;
CREATE FUNCTION measured(label text, ef int, find text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  question record; found bigint[]; began timestamptz; took float8[] := '{}'; hits int := 0; wanted int := 0;
BEGIN
  PERFORM set_config('hnsw.ef_search', ef::text, true), set_config('hnsw.iterative_scan', 'strict_order', true),
    set_config('enable_seqscan', 'off', true), set_config('random_page_cost', '1.1', true);
  FOR question IN SELECT q, v, keys FROM questions JOIN exact USING (q) ORDER BY q LOOP
    began := clock_timestamp();
    EXECUTE find INTO found USING question.v;
    took := took || extract(epoch FROM clock_timestamp() - began)::float8 * 1000;
    hits := hits + (SELECT count(*) FROM unnest(found[1:50]) AS k WHERE k = ANY(question.keys));
    wanted := wanted + 50;
  END LOOP;
  RETURN format('%s: recall %s, p50 %s ms, p95 %s ms', label, round(hits::numeric / wanted, 4),
    round((SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) FROM unnest(took) AS t)::numeric, 1),
    round((SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY t) FROM unnest(took) AS t)::numeric, 1));
END $$;
SELECT measured('halfvec, ef_search ' || ef, ef, 'SELECT array(SELECT key FROM library_1_vectors ORDER BY v <=> $1 LIMIT 150)')
  FROM unnest(ARRAY[200, 200, 400]) AS ef;
SQL

echo "candidates by words: rows and milliseconds of the query alone"
sql <<'SQL'
SET enable_seqscan = off; SET random_page_cost = 1.1; SET jit = off;
DO $$
-- Groups of terms as in src/retrieval/library_chunks.rs: rare ones by themselves, the others in twos, or more where those are too many,
-- as long as they are read quickly.
DECLARE
  question bigint[]; frequency bigint[]; conditions text[]; group_of bigint[]; expected float8; total bigint; began timestamptz;
  took float8[] := '{}'; rows bigint; compared float8; read bigint; found bigint[] := '{}'; rare int; chunks float8 := (SELECT reltuples FROM pg_class WHERE relname = 'library_1_chunks');
BEGIN
  FOR question IN SELECT array_agg(DISTINCT (exp(random() * ln(100000)) + 20 + q * 0)::bigint) FROM generate_series(1, 200) AS q,
    generate_series(1, 4) GROUP BY q LOOP
    SELECT array_agg(t.term ORDER BY t.chunks), array_agg(t.chunks ORDER BY t.chunks) INTO question, frequency FROM library_1_terms AS t
      WHERE t.term = ANY(question);
    CONTINUE WHEN question IS NULL;
    total := 0; rare := 0; conditions := '{}'; compared := 0; read := 0;
    WHILE rare < cardinality(question) AND total + frequency[rare + 1] <= 5000 LOOP
      rare := rare + 1; total := total + frequency[rare];
    END LOOP;
    IF rare > 0 THEN conditions := conditions || format('terms && %L::bigint[]', question[:rare]); END IF;
    <<pairs>> FOR a IN rare + 1..cardinality(question) LOOP
      FOR b IN a + 1..cardinality(question) LOOP
        group_of := question[a:a]; expected := frequency[a];
        FOR c IN b..cardinality(question) LOOP
          EXIT WHEN cardinality(group_of) > 1 AND expected <= 5000;
          group_of := group_of || question[c]; expected := expected * frequency[c] / chunks;
        END LOOP;
        compared := compared + expected; read := read + frequency[a] + frequency[b];
        EXIT pairs WHEN conditions <> '{}' AND (compared > 5000 OR read > 50000);
        conditions := conditions || format('terms @> %L::bigint[]', group_of);
      END LOOP;
    END LOOP;
    IF conditions = '{}' THEN conditions := ARRAY[format('terms && %L::bigint[]', question)]; END IF;
    began := clock_timestamp();
    EXECUTE format('SELECT count(*) FROM (SELECT chunk_id, file_order, words, sequence FROM library_1_chunks WHERE %s LIMIT 10000) AS f WHERE
      octet_length(sequence) > 0', array_to_string(conditions, ' OR ')) INTO rows;
    took := took || extract(epoch FROM clock_timestamp() - began)::float8 * 1000;
    found := found || rows;
  END LOOP;
  RAISE NOTICE '% questions of up to 4 words: rows p50 % and p95 %, p50 % ms, p95 % ms', cardinality(took),
    (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY f) FROM unnest(found) AS f),
    (SELECT percentile_disc(0.95) WITHIN GROUP (ORDER BY f) FROM unnest(found) AS f),
    round((SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY t) FROM unnest(took) AS t)::numeric, 1),
    round((SELECT percentile_cont(0.95) WITHIN GROUP (ORDER BY t) FROM unnest(took) AS t)::numeric, 1);
END $$;
SQL
