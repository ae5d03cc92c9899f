-- A million rows, indexes over them, joins, windows, JSON, text search by prefix, deletions and a vacuum.
PRAGMA journal_mode = off;
PRAGMA synchronous = off;
CREATE TABLE rows (id INTEGER PRIMARY KEY, key TEXT NOT NULL, part INTEGER NOT NULL, value REAL, bytes BLOB);
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000000)
INSERT INTO rows
SELECT n, printf('key%06d', n * 7919 % 1000003), n % 997, n / 3.0, zeroblob(n % 23) FROM numbers;
CREATE INDEX keys ON rows (key);
SELECT count(*), sum(id), min(key), max(key), round(sum(value)), sum(length(bytes)) FROM rows;
SELECT part, count(*), max(key) FROM rows GROUP BY part ORDER BY 3 DESC LIMIT 5;
SELECT count(*), sum(a.id - b.id) FROM rows a JOIN rows b ON b.key = a.key AND b.part = a.part WHERE a.part < 100;
SELECT sum(place) FROM (SELECT row_number() OVER (PARTITION BY part ORDER BY value DESC) AS place FROM rows WHERE id % 10 = 0);
SELECT length(group_concat(key, ',')) FROM (SELECT key FROM rows WHERE part = 5 ORDER BY key);
SELECT sum(json_extract(j, '$.list[1]')) FROM
  (SELECT json_object('key', key, 'list', json_array(id, part, value)) AS j FROM rows WHERE id <= 50000);
SELECT count(*) FROM rows WHERE key GLOB 'key1234*';
UPDATE rows SET key = key || part WHERE part % 10 = 3;
DELETE FROM rows WHERE part % 4 = 0;
SELECT count(DISTINCT substr(key, 1, 7)), sum(length(key)) FROM rows;
VACUUM;
PRAGMA integrity_check;
