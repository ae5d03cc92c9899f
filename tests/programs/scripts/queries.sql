-- Sorts, hashes, recursion, procedures and large values, then what the benchmark's clients left behind.
SET work_mem = '8MB';
SET max_parallel_workers_per_gather = 2;
CREATE TABLE words AS
  SELECT n, md5(n::text) AS word, n % 997 AS part, repeat(md5(n::text), n % 40) AS long FROM generate_series(1, 100000) n;
CREATE INDEX ON words (word);
ANALYZE words;
SELECT count(*), sum(length(long)), min(word), max(word) FROM words;
SELECT part, count(*), max(word) FROM words GROUP BY part ORDER BY 3 DESC LIMIT 5;
SELECT count(*) FROM words a JOIN words b ON substr(a.word, 1, 4) = substr(b.word, 1, 4) AND a.n < b.n;
SELECT md5(string_agg(word, ',' ORDER BY word)) FROM words;
SELECT sum(place) FROM (SELECT rank() OVER (PARTITION BY part ORDER BY word) AS place FROM words) ranks;
SELECT md5(jsonb_agg(jsonb_build_object('word', word, 'part', part) ORDER BY n)::text) FROM words WHERE n <= 20000;
WITH RECURSIVE fib (a, b) AS (SELECT 0::numeric, 1::numeric UNION ALL SELECT b, a + b FROM fib WHERE b < 1e300)
SELECT max(b) FROM fib;
CREATE FUNCTION collect(count int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  collected text[] := '{}';
BEGIN
  FOR i IN 1..count LOOP
    collected := collected || repeat('x', i % 50);
    BEGIN
      PERFORM 1 / (i % 10);
    EXCEPTION WHEN division_by_zero THEN
      collected := collected || 'caught'::text;
    END;
  END LOOP;
  RETURN md5(array_to_string(collected, ','));
END $$;
SELECT collect(3000);
SELECT count(*), (SELECT count(*) FROM regexp_matches(repeat('word1 word22 ', 5000), 'word(\d+)', 'g')) FROM words WHERE word ~ '^[a-f]+[0-9]{3}';
SELECT count(*), sum(delta) FROM pgbench_history;
SELECT sum(abalance) = sum(bbalance) AS same FROM (SELECT sum(abalance) AS abalance FROM pgbench_accounts) a, pgbench_branches;
SELECT md5(string_agg(aid || ':' || abalance, ',' ORDER BY aid)) FROM pgbench_accounts WHERE abalance <> 0;
