-- Attempt logs (ops/logs.c, query/log_pages.c). Writes are fenced by the lease but take no lock: a worker that is just
-- losing its lease may leave a chunk, of an epoch that readers ignore (docs/adr/0028).

-- A worker that adopted the attempt sends the log from byte 0 again: deletes the chunks of earlier epochs.
--: log_delete_old_epochs(worker i64; execution i64, attempt i32, epoch i32)
DELETE FROM attempt_logs AS a
 USING @rows@ AS u JOIN leases l ON l.execution = ANY (ARRAY[u.execution])                 --@ postgres
 WHERE l.epoch = u.epoch AND l.worker = $1                                                 --@ postgres
   AND a.execution = ANY (ARRAY[u.execution]) AND a.attempt = u.attempt AND a.epoch < u.epoch           --@ postgres
 WHERE execution = $2 AND attempt = $3 AND epoch < $4                                      --@ sqlite
   AND EXISTS (SELECT 1 FROM leases l WHERE l.execution = $2 AND l.epoch = $4 AND l.worker = $1)   --@ sqlite

-- A chunk that is sent again replaces all stored bytes from its start on.
--: log_truncate(worker i64; execution i64, attempt i32, epoch i32, start i64)
DELETE FROM attempt_logs AS a
 USING @rows@ AS u JOIN leases l ON l.execution = ANY (ARRAY[u.execution])                 --@ postgres
 WHERE l.epoch = u.epoch AND l.worker = $1                                                 --@ postgres
   AND a.execution = ANY (ARRAY[u.execution]) AND a.attempt = u.attempt AND a.epoch = u.epoch AND a.start >= u.start   --@ postgres
 WHERE execution = $2 AND attempt = $3 AND epoch = $4 AND start >= $5                      --@ sqlite
   AND EXISTS (SELECT 1 FROM leases l WHERE l.execution = $2 AND l.epoch = $4 AND l.worker = $1)   --@ sqlite

--: log_insert(worker i64; execution i64, attempt i32, epoch i32, start i64, raw i32, dropped i64, packed i16,
--:+ data bytes)
INSERT INTO attempt_logs (execution, attempt, epoch, start, raw, dropped, packed, data)
SELECT u.execution, u.attempt, u.epoch, u.start, u.raw, u.dropped, u.packed, u.data        --@ postgres
  FROM @rows@ AS u JOIN leases l ON l.execution = ANY (ARRAY[u.execution])                 --@ postgres
 WHERE l.epoch = u.epoch AND l.worker = $1                                                 --@ postgres
SELECT $2, $3, $4, $5, $6, $7, $8, $9                                                      --@ sqlite
 WHERE EXISTS (SELECT 1 FROM leases l WHERE l.execution = $2 AND l.epoch = $4 AND l.worker = $1)   --@ sqlite

-- Runs last: an epoch is never reused, so a worker that holds its lease now has also held it during the earlier statements.
--: log_leases(worker i64; execution i64, epoch i32)
SELECT l.execution, l.epoch FROM leases l @given@
 WHERE l.execution = ANY (:execution) AND l.epoch = :epoch AND l.worker = $1

-- Executions that have logs, after a given one: skips in the index from one execution to the next, past all chunks of
-- each. Older executions whose logs were deleted cost nothing.
--: logs_kept(after i64, n i64)
WITH RECURSIVE kept(execution, nth) AS (
    SELECT (SELECT min(l.execution) FROM attempt_logs l WHERE l.execution > $1), 1
    UNION ALL
    SELECT (SELECT min(l.execution) FROM attempt_logs l WHERE l.execution > k.execution), k.nth + 1
      FROM kept k WHERE k.execution IS NOT NULL AND k.nth < $2
)
SELECT e.id, e.root, e.requested_at, e.finished_at
  FROM kept k JOIN executions e ON e.id = ANY (ARRAY[k.execution])                         --@ postgres
  FROM kept k CROSS JOIN executions e ON e.id = k.execution                                --@ sqlite
 ORDER BY k.nth

--: logs_delete(; execution i64)
DELETE FROM attempt_logs AS a @given@ WHERE a.execution = ANY (:execution)

-- ---- reading

-- The attempt ($2, or the last one if $2 is 0) and its highest epoch, the only one that readers use.
--: query_log_of(execution i64, attempt i32)
SELECT a.attempt, (SELECT l.epoch FROM attempt_logs l WHERE l.execution = $1 AND l.attempt = a.attempt
                    ORDER BY l.epoch DESC LIMIT 1)
  FROM (SELECT CASE WHEN $2 > 0 THEN $2 ELSE e.attempts END AS attempt FROM executions e WHERE e.id = $1) a

-- The end of the stored log, how many bytes before it were dropped, and the first chunk after dropped bytes.
--: query_log_end(execution i64, attempt i32, epoch i32)
SELECT l.start + l.raw, l.dropped,
       (SELECT min(g.start) FROM attempt_logs g
         WHERE g.execution = $1 AND g.attempt = $2 AND g.epoch = $3 AND g.dropped > 0)
  FROM attempt_logs l
 WHERE l.execution = $1 AND l.attempt = $2 AND l.epoch = $3
 ORDER BY l.start DESC LIMIT 1

-- The chunks from the last one that starts before $4, as long as they start less than $5 bytes after that one. The end
-- of the page is found without reading the data, so only the data of the page is read.
--: query_log(execution i64, attempt i32, epoch i32, from_byte i64, bytes i64, n i64)
WITH near_by AS MATERIALIZED (
    SELECT l.start, l.raw
      FROM attempt_logs l
     WHERE l.execution = $1 AND l.attempt = $2 AND l.epoch = $3
       AND l.start >= COALESCE((SELECT p.start FROM attempt_logs p
                                 WHERE p.execution = $1 AND p.attempt = $2 AND p.epoch = $3 AND p.start < $4
                                 ORDER BY p.start DESC LIMIT 1), 0)
     ORDER BY l.start LIMIT $6
), page AS MATERIALIZED (
    SELECT start, CAST(sum(raw) OVER (ORDER BY start) AS bigint) - raw AS ahead FROM near_by
)
SELECT l.start, l.raw, l.dropped, l.packed, l.data
  FROM attempt_logs l
 WHERE l.execution = $1 AND l.attempt = $2 AND l.epoch = $3
   AND l.start >= (SELECT min(start) FROM page) AND l.start <= (SELECT max(start) FROM page WHERE ahead < $5)
 ORDER BY l.start
