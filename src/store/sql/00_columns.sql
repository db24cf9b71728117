-- The columns of an execution's image, in the order in which execution.c reads them.
--= job e.id, e.parent, e.root, e.workflow, e.rerun_of,
--=+    e.requested_at, e.started_at, e.finished_at, e.updated_at, e.idle,
--=+    e.priority, e.attempts, e.max_attempts, e.epoch, e.seq,
--=+    e.needs_left, e.needs_succeeded, e.children_open, e.children_made, e.notify_left, e.task_index, e.depth,
--=+    e.kind, e.status, e.held, e.deferred, e.flags, e.cancel_requested,
--=+    e.name, e.queue, e.lane, e.concurrency, e.held_key, e.task_name
--= no_lease CAST(NULL AS bigint), CAST(NULL AS timestamptz), CAST(NULL AS timestamptz), CAST(NULL AS text)
--= state @job@, l.worker, l.until, l.expired_at, l.folder
--= whole @state@, e.input, e.result, e.error, e.spec

-- A waiting SQL submission s as the execution that it will be: a pending workflow. No event has happened yet, so its seq
-- is 0. The columns are those of @state@, of @whole@, and of @whole@ with @past@ (query.sql).
--= submitted_state s.id, CAST(NULL AS bigint), s.id, CAST(NULL AS bigint), CAST(NULL AS bigint),
--=+    s.requested_at, CAST(NULL AS timestamptz), CAST(NULL AS timestamptz), s.requested_at, 0,
--=+    s.priority, 0, 1, 0, 0,
--=+    0, 0, CAST(NULL AS integer), CAST(NULL AS integer), CAST(NULL AS integer), CAST(NULL AS integer), 0,
--=+    KIND_WORKFLOW, S_PENDING, HELD_NONE, 0, 0, 0,
--=+    s.workflow, COALESCE(s.queue, 'default'), CAST(NULL AS text), CAST(NULL AS text), CAST(NULL AS text),
--=+    CAST(NULL AS text), @no_lease@
--= submitted @submitted_state@, s.params, CAST(NULL AS text), CAST(NULL AS text), CAST(NULL AS text), CAST(NULL AS text),
--=+    CAST(NULL AS bigint), CAST(NULL AS text),
--=+    json_object('by', s.requested_by),                                                 --@ sqlite
--=+    json_build_object('by', s.requested_by)::text,                                     --@ postgres
--=+    CAST(NULL AS timestamptz), s.definition, CAST(NULL AS text), CAST(NULL AS text)
--= waits s.execution IS NULL AND s.error IS NULL

-- Joins on PostgreSQL: a table is joined with given rows, or with a small table, by the first column of its index as
-- `e.id = ANY (ARRAY[u.id])`, never as `e.id = u.id`. Both can probe the index once for each u. But for an equality the
-- planner may also choose a scan of the whole index that looks up each of its rows in u, and it does so if the
-- statistics were taken while the table was empty, as the outbox, leases and timers are whenever nothing runs. (With
-- 50,000 jobs in the outbox, deleting 100 took 5.8 s.) On SQLite, which has no statistics, CROSS JOIN fixes the join
-- order instead. `= ANY (:id)` expands to that form. tests/test_plans.c checks the plans of all statements. If only ids
-- are given, no join is needed: `e.id = ANY ($1)` is one scan along the index, in its order, and takes half the time.

-- The recursive step of a walk down a tree: the children c of t. On PostgreSQL they are found by one index probe for each
-- t; a plain join may be planned as a loop over all rows that have a parent.
--= children_of_t CROSS JOIN LATERAL (SELECT x.* FROM executions x WHERE x.parent = t.id OFFSET 0) c    --@ postgres
--= children_of_t JOIN executions c ON c.parent = t.id                                                  --@ sqlite

-- Joins the executions e of the leases l, of which there are few.
--= execution_of_l JOIN executions e ON e.id = ANY (ARRAY[l.execution])                    --@ postgres
--= execution_of_l CROSS JOIN executions e ON e.id = l.execution                           --@ sqlite

-- A time before every stored time. The partial index on (queue, ready_at) of the outbox has the condition that ready_at
-- is later, which is true for every row; a statement must repeat the condition to use the index.
--= any_time '1970-01-01Z'                                                                 --@ postgres
--= any_time 0                                                                             --@ sqlite

-- The data of event v, as JSON. PostgreSQL can't read the escape \u0000, so it is replaced by \u0001.
--= data_pg replace(v.data, '\u0000', '\u0001')::json

-- The generation of the database, which a fence raises.
--= generation (SELECT CAST(value AS bigint) FROM settings WHERE name = 'fence_generation')

-- When a schedule must next be checked: at its next due time, or now if the run that it waits for has ended.
--= next_schedule (SELECT min(d.due) FROM (
--=+     SELECT (SELECT s.next_at FROM schedules s WHERE s.next_at IS NOT NULL ORDER BY s.next_at LIMIT 1) AS due
--=+     UNION ALL
--=+     SELECT (SELECT s.waiting_at FROM schedules s WHERE s.waiting_at IS NOT NULL AND s.problem IS NULL
--=+                AND COALESCE((SELECT x.status FROM executions x WHERE x.id = s.last_run), S_SUCCEEDED) >= S_SUCCEEDED LIMIT 1)) AS d)

-- The first waiting SQL submission.
--= waiting_submission (SELECT s.id FROM submissions s WHERE s.execution IS NULL AND s.error IS NULL ORDER BY s.id LIMIT 1)

-- The task u.name of u.workflow, on PostgreSQL, found by one index probe with both columns. A plain join may be planned
-- as a loop over all tasks of the workflow for each name.
--= task_of_u CROSS JOIN LATERAL (SELECT x.* FROM executions x WHERE x.parent = u.workflow AND x.task_name = u.name
--=+    AND x.task_index IS NULL OFFSET 0) e

--= settings_version (SELECT CAST(value AS bigint) FROM settings WHERE name = 'settings_version')
