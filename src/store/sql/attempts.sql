-- Counters of attempts (door/attempts.c, query/attempt_counts.c): each writer adds the counts of a turn to its own rows, in
-- the transaction that writes the events.

--= or_add ON CONFLICT (writer, worker, queue, executor, host, type, outcome, upto)
--=+       DO UPDATE SET n = c.n + excluded.n, us = c.us + excluded.us
--= sums CAST(sum(c.n) AS bigint) AS n, CAST(sum(c.us) AS bigint) AS us

--: attempts_count(; writer i64, worker i64, queue text, executor text, host text, type i16, outcome i16, upto i64, n i64,
--:+ us i64)
INSERT INTO attempt_counters AS c @given@
@or_add@

-- Moves the counts of a writer that is gone to writer 0. Retention has locked the writer's row in `turns`.
--: attempts_merge_writers(; writer i64)
INSERT INTO attempt_counters AS c
SELECT 0, c.worker, c.queue, c.executor, c.host, c.type, c.outcome, c.upto, @sums@
  FROM @rows@ AS u JOIN attempt_counters c ON c.writer = u.writer                          --@ postgres
  FROM attempt_counters c WHERE c.writer = $1                                              --@ sqlite
 GROUP BY c.worker, c.queue, c.executor, c.host, c.type, c.outcome, c.upto
@or_add@

--: attempts_delete_writers(; writer i64)
DELETE FROM attempt_counters AS c @given@ WHERE c.writer = :writer

-- Moves the counts of workers that are gone to worker 0, under the name of their host. On PostgreSQL one statement does
-- both steps: another retention that runs at the same time finds no row to move.
--= of_gone_workers c.writer = 0 AND c.worker <> 0 AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.id = c.worker)
--= host_of_c COALESCE((SELECT h.host FROM worker_hosts h WHERE h.worker = c.worker), c.host) AS last_host
--: attempts_merge_workers()
WITH c AS (DELETE FROM attempt_counters AS c WHERE @of_gone_workers@ RETURNING c.*, @host_of_c@)   --@ postgres
INSERT INTO attempt_counters AS c
SELECT 0, 0, c.queue, c.executor, c.last_host, c.type, c.outcome, c.upto, @sums@
  FROM c                                                                                   --@ postgres
  FROM (SELECT c.*, @host_of_c@ FROM attempt_counters c WHERE @of_gone_workers@) c WHERE true   --@ sqlite
 GROUP BY c.queue, c.executor, c.last_host, c.type, c.outcome, c.upto
@or_add@

--: attempts_delete_workers()
SELECT 1                                                                                   --@ postgres
DELETE FROM attempt_counters AS c WHERE @of_gone_workers@                                  --@ sqlite

--: query_attempts_by_queue()
SELECT c.queue, c.executor, c.type, c.outcome, c.upto, @sums@
  FROM attempt_counters c
 GROUP BY c.queue, c.executor, c.type, c.outcome, c.upto ORDER BY c.queue, c.executor

-- The outcomes of each worker. Workers that no longer exist are shown together as worker 0 of their host.
--: query_attempts_by_worker()
SELECT c.last_host, c.existing, c.outcome, @sums@
  FROM (SELECT c.outcome, c.n, c.us, @host_of_c@,
               COALESCE((SELECT w.id FROM workers w WHERE w.id = c.worker), 0) AS existing
          FROM attempt_counters c WHERE c.outcome <> 0) c
 GROUP BY c.last_host, c.existing, c.outcome ORDER BY c.last_host, c.existing
