-- idle: the time between the end of a run and the start of the rerun that followed, which is not part of an execution's
-- duration. NULL means 0, as in almost all rows. A process of an older version does not record it for its reruns.
ALTER TABLE executions ADD COLUMN idle BIGINT;      --@ postgres
ALTER TABLE executions ADD COLUMN idle INTEGER;     --@ sqlite

-- A run starts with the first claim of a job, the start of a workflow, or the rerun of a workflow that continues. The sum
-- adds each start after an end, and subtracts that end. (Ends before the first start do not count.)
WITH runs AS (
    SELECT v.execution, v.seq, v.created_at, CASE WHEN v.to_status >= S_SUCCEEDED THEN 0 ELSE 1 END AS start
      FROM executions e JOIN execution_events v ON v.root = e.root AND v.execution = e.id
     WHERE e.flags & FLAG_RERUN <> 0 AND e.started_at IS NOT NULL AND v.created_at >= e.started_at
       AND (v.to_status >= S_SUCCEEDED OR v.type IN (EV_CLAIMED, EV_RESUMED, WORKFLOW_EV_STARTED)
            OR (v.type = WORKFLOW_EV_RERUN AND v.to_status = S_RUNNING))
), turns AS (
    SELECT r.execution, r.seq, r.created_at, r.start,
           lag(r.start) OVER (PARTITION BY r.execution ORDER BY r.seq) AS before
      FROM runs r
), sums AS (
    SELECT t.execution,
           sum(CASE WHEN t.start = 1 THEN 1 ELSE -1 END * t.created_at) AS idle                                    --@ sqlite
           sum(CASE WHEN t.start = 1 THEN 1 ELSE -1 END * CAST(extract(epoch FROM t.created_at) * 1000000 AS bigint)) AS idle  --@ postgres
      FROM turns t JOIN executions e ON e.id = t.execution
     WHERE t.start <> t.before AND (t.start = 1 OR t.seq < e.seq) -- no rerun followed the last end
     GROUP BY t.execution
)
UPDATE executions AS e SET idle = CAST(s.idle AS bigint) FROM sums s WHERE s.execution = e.id AND s.idle <> 0;

-- The view `jobs`: it is not known when a job that waits for an approval, a permit or its needs becomes available; in
-- particular, that is not the time at which its approval times out. Worker ids have 16 hexadecimal digits, as
-- everywhere. Roles keep their rights to the view.
DO $$ BEGIN                                                                                                                 --@ postgres
    PERFORM set_config('pawl.grants', (                                                                                     --@ postgres
        SELECT string_agg(format('GRANT %s ON jobs TO %s', a.privilege_type,                                                --@ postgres
                                 CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END), '; ')--@ postgres
          FROM pg_class c, aclexplode(c.relacl) a                                                                           --@ postgres
         WHERE c.oid = 'jobs'::regclass AND a.grantee <> c.relowner), true);                                                --@ postgres
END $$;                                                                                                                     --@ postgres
DROP VIEW jobs;
CREATE VIEW jobs AS
SELECT e.id,
       e.id AS run_id,
       CASE e.status WHEN S_PENDING THEN 'pending' WHEN S_READY THEN 'queued' WHEN S_RUNNING THEN 'running' WHEN S_SUCCEEDED THEN 'succeeded'
                     WHEN S_FAILED THEN 'failed' WHEN S_TIMED_OUT THEN 'timed_out' WHEN S_CANCELLED THEN 'cancelled' ELSE 'skipped' END AS status,
       e.queue, e.priority, e.attempts, e.max_attempts,
       CASE WHEN e.held = HELD_DELAY THEN (SELECT min(t.due_at) FROM timers t WHERE t.execution = e.id AND t.kind = TIMER_DELAY)
            WHEN e.held = HELD_NONE AND e.status <> S_PENDING THEN e.requested_at END AS available_at,
       lpad(to_hex(l.worker), 16, '0') AS locked_by,                                                                       --@ postgres
       CASE WHEN l.worker IS NOT NULL THEN printf('%016x', l.worker) END AS locked_by,                                     --@ sqlite
       l.until AS locked_until,
       e.error AS last_error,
       e.requested_at AS created_at, e.updated_at, e.started_at, e.finished_at
  FROM executions e LEFT JOIN leases l ON l.execution = e.id
 WHERE e.kind IN (KIND_TASK, KIND_EXEC);
DO $$ BEGIN                                                                                                                 --@ postgres
    IF current_setting('pawl.grants') <> '' THEN                                                                            --@ postgres
        EXECUTE current_setting('pawl.grants');                                                                             --@ postgres
    END IF;                                                                                                                 --@ postgres
END $$;                                                                                                                     --@ postgres
