-- Counters of the workers (ops/workers.c, query/queues.c), and the identity of the database (ops/fence.c).

-- Adds up a metric that occurs twice first: on PostgreSQL, ON CONFLICT must not change a row twice.
--: worker_counter_add(worker i64; metric text, labels text, value i64)
INSERT INTO worker_counters AS c (worker, metric, labels, value)
SELECT $1, u.metric, u.labels, CAST(sum(u.value) AS bigint)                                --@ postgres
  FROM @rows@ AS u GROUP BY u.metric, u.labels                                             --@ postgres
VALUES ($1, $2, $3, $4)                                                                    --@ sqlite
ON CONFLICT (worker, metric, labels) DO UPDATE SET value = c.value + excluded.value

-- Workers that have counters but no longer exist; skips from one worker to the next by the primary key.
--: worker_counters_left(n i64)
WITH RECURSIVE w(worker) AS (
    SELECT min(worker) FROM worker_counters WHERE worker > 0
    UNION ALL
    SELECT (SELECT min(c.worker) FROM worker_counters c WHERE c.worker > w.worker) FROM w WHERE w.worker IS NOT NULL
)
SELECT w.worker FROM w
 WHERE w.worker IS NOT NULL AND NOT EXISTS (SELECT 1 FROM workers x WHERE x.id = w.worker)
 LIMIT $1

-- Removes and returns the counters in one step. If the worker turns out to be alive it adds to a new row, so no count
-- is lost.
--: worker_counters_take(; worker i64)
DELETE FROM worker_counters AS c @given@ WHERE c.worker = ANY (:worker)
RETURNING metric, labels, value

-- Reads all rows: those of existing workers and of worker 0 are few.
--: query_counters()
SELECT CAST(0 AS bigint), c.metric, c.labels, CAST(sum(c.value) AS bigint)
  FROM worker_counters c GROUP BY c.metric, c.labels ORDER BY c.metric, c.labels

--: query_counters_by_worker()
SELECT c.worker, c.metric, c.labels, c.value FROM worker_counters c ORDER BY c.metric, c.labels, c.worker

-- ---- identity

--: query_identity()
SELECT (SELECT value FROM settings WHERE name = 'database_id'),
       @generation@

--: generation_read()
SELECT CAST(value AS bigint) FROM settings WHERE name = 'fence_generation'

-- Returns a row to the first caller after a day has passed since the last retention; this caller runs it.
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
