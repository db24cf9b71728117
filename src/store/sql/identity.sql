-- The identity of the database (ops/fence.c).

--: query_identity()
SELECT (SELECT value FROM settings WHERE name = 'database_id'),
       @generation@

--: generation_read()
SELECT CAST(value AS bigint) FROM settings WHERE name = 'fence_generation'

-- Returns a row to the first caller after a day has passed since the last retention; that caller runs retention.
--: retention_mark_run(now i64, before i64)
UPDATE settings SET value = CAST($1 AS text)
 WHERE name = 'retained_at' AND CAST(value AS bigint) < $2
RETURNING name

-- Uses the time in ms rather than the next number: a backup that is restored twice must not get the same generation
-- twice.
--: generation_raise(now_ms i64)
UPDATE settings SET value = CAST(CASE WHEN CAST(value AS bigint) < $1 THEN $1 ELSE CAST(value AS bigint) + 1 END AS text)
 WHERE name = 'fence_generation'
RETURNING CAST(value AS bigint)

-- Times at which the database was certainly in use: the request of the newest execution, the last fence (ms), the last
-- migration.
--: fence_known_times()
SELECT (SELECT e.requested_at FROM executions e WHERE e.id = (SELECT max(id) FROM executions)),
       @generation@,
       (SELECT applied_at FROM schema_migrations ORDER BY version DESC LIMIT 1)

-- The next execution's id ends in 000001. Ten event numbers are skipped for each id: the lost time had fewer than ten
-- events for each skipped id.
--: ids_skip(n i64)
SELECT setval('execution_id', (e.last_value + $1) / 1000000 * 1000000 + 1000000),           --@ postgres
       setval('event_sequence', v.last_value + 10 * $1)                                    --@ postgres
  FROM execution_id e, event_sequence v                                                    --@ postgres
UPDATE counters SET value = CASE name                                                      --@ sqlite
    WHEN 'execution_id' THEN (value + $1) / 1000000 * 1000000 + 1000000                    --@ sqlite
    ELSE max(value, (SELECT COALESCE(max(sequence_num), 0) FROM execution_events)) + 10 * $1 END   --@ sqlite
 WHERE name IN ('execution_id', 'event_floor')                                             --@ sqlite

-- Records the foreground runs that are open at this fence. Reads all roots, once for each fence.
--: fenced_trees_note()
INSERT INTO settings (name, value)
SELECT 'fenced_tree:' || e.id, 'open' FROM executions e
 WHERE e.parent IS NULL AND e.id > 0 AND e.status < S_SUCCEEDED AND e.queue = 'here:' || e.id
ON CONFLICT (name) DO NOTHING

-- The roots that a fence has recorded, each with its status; NULL if the tree was removed since.
--: query_fenced_trees()
SELECT f.root, (SELECT e.status FROM executions e WHERE e.id = f.root)
  FROM (SELECT CAST(substr(s.name, 13) AS bigint) AS root FROM settings s WHERE s.name LIKE 'fenced_tree:%') AS f

--: fenced_trees_end(; root i64)
DELETE FROM settings AS s @given@ WHERE s.name = 'fenced_tree:' || :root

-- Accepts the timeline on which the server runs; returns no row if the database has no timelines, or does not report them.
--: timeline_accept()
INSERT INTO settings (name, value)                                                         --@ postgres
SELECT 'server_timeline', t FROM server_timeline() AS t WHERE t IS NOT NULL                --@ postgres
ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING value                    --@ postgres
SELECT value FROM settings WHERE name = 'server_timeline'                                  --@ sqlite

-- Leases that have a worker, in the order of their executions.
--: leases_held(after i64, n i64)
SELECT execution FROM leases WHERE execution > $1 AND worker IS NOT NULL ORDER BY execution LIMIT $2

--: leases_lock(; execution i64)
SELECT @state@
  FROM @rows@ AS u JOIN leases l ON l.execution = ANY (ARRAY[u.execution])   --@ postgres
  JOIN executions e ON e.id = ANY (ARRAY[l.execution])                                     --@ postgres
 WHERE l.worker IS NOT NULL                                                                --@ postgres
   FOR UPDATE OF l, e SKIP LOCKED                                                          --@ postgres
  FROM leases l JOIN executions e ON e.id = l.execution                                    --@ sqlite
 WHERE l.execution = $1 AND l.worker IS NOT NULL                                           --@ sqlite
