-- The columns of an execution's image, in the order in which execution.c reads them.
--= job e.id, e.parent, e.root, e.workflow, e.rerun_of,
--=+    e.requested_at, e.started_at, e.finished_at, e.updated_at,
--=+    e.priority, e.attempts, e.max_attempts, e.epoch, e.seq, e.needs_left, e.task_index, e.cursor, e.depth,
--=+    e.kind, e.status, e.held, e.deferred, e.failed_behind, e.cancel_requested,
--=+    e.name, e.queue, e.lane, e.concurrency, e.held_key, e.task_name
--= no_lease CAST(NULL AS bigint), CAST(NULL AS timestamptz), CAST(NULL AS timestamptz), CAST(NULL AS text)
--= state @job@, l.worker, l.until, l.expired_at, l.folder
--= whole @state@, e.input, e.result, e.error, e.spec

-- How a table is joined with rows that are given, or with a small table, on PostgreSQL: by the first column of its index
-- as `e.id = ANY (ARRAY[u.id])`, never `e.id = u.id`. Both are a probe of the index for each u. But of an equality the
-- planner may also make a walk through the whole index, with u looked through at each of its rows, and does so when the
-- statistics come from a moment at which the table was empty: for the outbox, leases and timers that is any quiet
-- moment. (With 50,000 jobs in the outbox, to delete 100 took 5.8 s.) On SQLite, which has no statistics, CROSS JOIN
-- says the same. tests/test_plans.c asks for the plans of all statements. Where only ids are given there is nothing to
-- join: `e.id = ANY ($1)` is one walk along the index, in its order, and takes half the time.

-- The recursive step of a walk down a tree, on PostgreSQL: children c of t, each by a probe of the index. Written as
-- a plain join it may be planned as a loop over all rows that have a parent.
--= children_of_t CROSS JOIN LATERAL (SELECT x.* FROM executions x WHERE x.parent = t.id OFFSET 0) c

-- When a schedule is next to be looked at: by the clock, or now, since the run that one waits for has ended.
--= next_schedule (SELECT min(d.due) FROM (
--=+     SELECT (SELECT s.next_at FROM schedules s WHERE s.next_at IS NOT NULL ORDER BY s.next_at LIMIT 1) AS due
--=+     UNION ALL
--=+     SELECT (SELECT s.waiting_at FROM schedules s WHERE s.waiting_at IS NOT NULL AND s.problem IS NULL
--=+                AND COALESCE((SELECT x.status FROM executions x WHERE x.id = s.last_run), 4) >= 4 LIMIT 1)) AS d)

-- The first of the submissions by SQL that wait to be taken.
--= waiting_submission (SELECT s.id FROM submissions s WHERE s.execution IS NULL AND s.error IS NULL ORDER BY s.id LIMIT 1)

-- The task of u.workflow that is named u.name, on PostgreSQL, by a probe of the index with both: a plain join may be
-- planned as a loop over all tasks of the workflow, for each name.
--= task_of_u CROSS JOIN LATERAL (SELECT x.* FROM executions x WHERE x.parent = u.workflow AND x.task_name = u.name
--=+    AND x.task_index IS NULL OFFSET 0) e
