-- The schedules of applied workflows (schedule/*.c, query/schedules.c).

-- ---- apply

--= schedule s.id, s.workflow, s.name, s.cron, s.tz, s.catchup, s.overlap, s.jitter, s.start_at, s.end_at, s.params,
--=+         s.done_at, s.next_at, s.waiting_at, s.last_run, s.skipped, s.skipped_at, s.missed_at,
--=+         s.paused_at, s.paused_by, s.pause_reason, s.problem

-- All schedules of a workflow, or one of them by name.
--: schedules_of(workflow text, name text)
SELECT @schedule@ FROM schedules s
 WHERE s.workflow = $1 AND ($2 IS NULL OR s.name = $2)
 ORDER BY s.id
   FOR UPDATE                                                                              --@ postgres

--: schedules_delete(workflow text)
DELETE FROM schedules WHERE workflow = $1

--: schedule_insert(; id i64, workflow text, name text, cron text, tz text, catchup i64, overlap i16, jitter i64,
--:+                 start_at time, end_at time, params text, done_at time, next_at time, waiting_at time, last_run i64,
--:+                 skipped i64, skipped_at time, missed_at time, paused_at time, paused_by text, pause_reason text,
--:+                 problem text)
INSERT INTO schedules @given@

-- ---- fire

-- Schedules to check: those that are due, and those whose awaited run has ended. Takes no lock.
--: schedules_due(now time, n i64)
SELECT d.id FROM (SELECT s.id FROM schedules s WHERE s.next_at <= $1 ORDER BY s.next_at LIMIT $2) AS d
UNION
SELECT w.id FROM (SELECT s.id FROM schedules s WHERE s.waiting_at IS NOT NULL AND s.problem IS NULL
                     AND COALESCE((SELECT e.status FROM executions e WHERE e.id = s.last_run), S_SUCCEEDED) >= S_SUCCEEDED LIMIT $2) AS w

-- Schedules that were last checked at a later time than now: the clock was set back since, and their next due time may
-- be far too late. A schedule with a problem keeps its done_at; it was checked at a later time if its next check is later
-- than the one that a check now would set. Run only after such a change and when a worker starts, so a scan of the
-- primary key is enough.
--: schedules_ahead(now time, n i64, next_check time)
SELECT s.id FROM schedules s
 WHERE s.id > 0 AND s.paused_at IS NULL
   AND CASE WHEN s.problem IS NULL THEN s.done_at > $1 ELSE s.next_at > $3 END
 ORDER BY s.id LIMIT $2

-- Reads no other table: if the row changed while this statement ran, PostgreSQL reads it again, but not the rows
-- that it is joined with.
--: schedules_lock(; id i64)
SELECT @schedule@
  FROM schedules s @given@ WHERE s.id = ANY (:id)
   FOR UPDATE OF s SKIP LOCKED                                                             --@ postgres

-- The status of the last run and the applied hash; read after the schedules are locked.
--: schedule_facts(; id i64)
SELECT s.id, (SELECT e.status FROM executions e WHERE e.id = s.last_run),
       (SELECT n.hash FROM workflow_names n WHERE n.name = s.workflow)
  FROM schedules s @given@ WHERE s.id = ANY (:id)

--: firings_existing(; schedule i64, due_at time)
SELECT f.schedule, f.due_at
  FROM @rows@ AS u CROSS JOIN LATERAL (SELECT x.* FROM schedule_firings x                  --@ postgres
                                        WHERE x.schedule = u.schedule AND x.due_at = u.due_at OFFSET 0) f   --@ postgres
  FROM schedule_firings f WHERE f.schedule = $1 AND f.due_at = $2                          --@ sqlite

--: firing_insert(; schedule i64, due_at time, execution i64)
INSERT INTO schedule_firings @given@

-- The columns that a check or an operator changes.
--: schedule_write(; id i64, done_at time, next_at time, waiting_at time, last_run i64, skipped i64, skipped_at time,
--:+                missed_at time, paused_at time, paused_by text, pause_reason text, problem text)
UPDATE schedules AS s
   SET done_at = :done_at, next_at = :next_at, waiting_at = :waiting_at, last_run = :last_run, skipped = :skipped,
       skipped_at = :skipped_at, missed_at = :missed_at, paused_at = :paused_at, paused_by = :paused_by,
       pause_reason = :pause_reason, problem = :problem @given@
 WHERE s.id = ANY (:id)

--: schedule_next()
SELECT @next_schedule@

--: firings_delete(; execution i64)
DELETE FROM schedule_firings AS f @given@ WHERE f.execution = ANY (:execution)

-- ---- read

--: query_schedules(workflow text, name text)
SELECT @schedule@, n.hash, n.applied_at, n.applied_by,
       (SELECT f.due_at FROM schedule_firings f WHERE f.schedule = s.id ORDER BY f.due_at DESC LIMIT 1), e.status,
       @last_audit@
  FROM schedules s
  LEFT JOIN operator_orders d ON d.subject = 'schedule:' || s.workflow || '/' || s.name
       AND d.seq = (SELECT max(l.seq) FROM operator_orders l WHERE l.subject = 'schedule:' || s.workflow || '/' || s.name)
  LEFT JOIN workflow_names n ON n.name = s.workflow
  LEFT JOIN executions e ON e.id = s.last_run
 WHERE ($1 IS NULL OR s.workflow = $1) AND ($2 IS NULL OR s.name = $2)
 ORDER BY s.workflow, s.id
