-- Why an execution waits (query/why.c), and totals for the metrics. Only reads.

-- ---- why

-- The events of an execution, newest first, except `created` and `marked_ready`.
--: why_events(execution i64, n i64)
SELECT @event@
  FROM execution_events v
 WHERE v.root = (SELECT e.root FROM executions e WHERE e.id = $1) AND v.execution = $1
   AND v.type NOT IN (EV_CREATED, EV_MARKED_READY, WORKFLOW_EV_CREATED)
 ORDER BY v.seq DESC LIMIT $2

-- How many jobs of the same lane and queue will be claimed before this one, counted up to n.
--: why_ahead(lane text, queue text, rank i32, execution i64, n i64)
SELECT count(*) FROM (
    SELECT 1 FROM task_outbox o
     WHERE o.lane = $1 AND o.queue = $2 AND (o.rank, o.execution) < ($3, $4)
     LIMIT $5) AS counted

-- How many executions will get a permit of the limit before this one, counted up to n.
--: why_limit_ahead(key text, rank i32, execution i64, n i64)
SELECT count(*) FROM (
    SELECT 1 FROM limit_waits w
     WHERE w.key = $1 AND (w.rank, w.execution) < ($2, $3)
     LIMIT $4) AS counted

--: why_limit(key text)
SELECT max, used, resume_max, paused_at, paused_by, pause_reason FROM limits WHERE key = $1

-- The jobs that have the permits of a limit: first the running ones, by a scan of all leases, which are few; then the
-- claimable ones.
--: why_holders_of_queue(queue text, n i64)
SELECT h.id, h.status, e.name FROM (
    SELECT e.id, e.status, 0 AS later
      FROM leases l @execution_of_l@ WHERE e.queue = $1
    UNION ALL
    SELECT w.execution, S_READY, 1 FROM (
        SELECT o.execution FROM task_outbox o WHERE o.queue = $1
           AND o.ready_at > @any_time@
         ORDER BY o.ready_at LIMIT $2) w
     ORDER BY later, id LIMIT $2) AS h JOIN executions e ON e.id = h.id
 ORDER BY h.later, h.id

--: why_holders_of_key(concurrency text, n i64)
SELECT h.id, h.status, e.name FROM (
    SELECT e.id, e.status, 0 AS later
      FROM leases l @execution_of_l@ WHERE e.concurrency = $1
    UNION ALL
    SELECT w.execution, S_READY, 1 FROM (
        SELECT o.execution FROM task_outbox o WHERE o.concurrency = $1 LIMIT $2) w
     ORDER BY later, id LIMIT $2) AS h JOIN executions e ON e.id = h.id
 ORDER BY h.later, h.id

-- The jobs that run with a permit of queue.cap. Earlier versions stored the cap as a concurrency key.
--: why_holders_of_cap(concurrency text, n i64)
SELECT e.id, e.status, e.name
  FROM leases l @execution_of_l@ WHERE e.flags & FLAG_CAPPED <> 0 OR e.concurrency = $1
 ORDER BY l.execution LIMIT $2

-- Running workflows and fan-outs of a concurrency key. No index has the key, so only the newest 100,000 executions are
-- searched.
--: why_workflows_of_key(concurrency text, n i64)
SELECT e.id, e.status, e.name
  FROM executions e
 WHERE e.id > (SELECT max(id) FROM executions) - 100000 AND e.concurrency = $1 AND e.kind IN (KIND_WORKFLOW, KIND_FOREACH) AND e.status = S_RUNNING
 ORDER BY e.id LIMIT $2

-- The open children of an execution, running ones first.
--: why_children(parent i64, n i64)
SELECT c.id, c.status, c.name, c.kind FROM executions c WHERE c.parent = $1 AND c.status < S_SUCCEEDED ORDER BY c.status DESC, c.id LIMIT $2

-- The first children of an execution that failed or timed out.
--: why_failed(parent i64, n i64)
SELECT e.id, e.status, e.kind, e.attempts, e.name, e.task_name FROM executions e
 WHERE e.parent = $1 AND e.status IN (S_FAILED, S_TIMED_OUT) ORDER BY e.id LIMIT $2

-- Tasks of a workflow by their names.
--: why_tasks(workflow i64; name text)
SELECT e.task_name, e.id, e.status
  FROM (SELECT $1 AS workflow, unnest($2) AS name) AS u @task_of_u@                        --@ postgres
  FROM executions e WHERE e.parent = $1 AND e.task_name = $2 AND e.task_index IS NULL       --@ sqlite

-- A job has one event type for all kinds of holds. The event with the operator's request is preferred to the events of
-- holds that followed from it.
--= paused_event v.root = e.root AND v.execution = e.id AND v.type IN (EV_HELD, WORKFLOW_EV_PAUSED)
--=+            ORDER BY CASE WHEN v.type = WORKFLOW_EV_PAUSED
--=+                           OR json_extract(v.data, '$.by') IS NOT NULL                     --@ sqlite
--=+                           OR @data_pg@ ->> 'by' IS NOT NULL                               --@ postgres
--=+                          THEN 0 ELSE 1 END, v.seq DESC LIMIT 1

-- The nearest paused execution: this one or one of its ancestors.
--: why_pause(execution i64)
WITH RECURSIVE up(id, parent, status, flags, steps) AS (
    SELECT id, parent, status, flags, 0 FROM executions WHERE id = $1
    UNION ALL
    SELECT e.id, e.parent, e.status, e.flags, u.steps + 1 FROM up u JOIN executions e ON e.id = u.parent
), paused(id) AS (
    SELECT id FROM up WHERE (flags & FLAG_PAUSED) <> 0 AND status < S_SUCCEEDED ORDER BY steps LIMIT 1
)
SELECT e.id, e.name,
       (SELECT v.created_at FROM execution_events v WHERE @paused_event@),
       (SELECT v.data FROM execution_events v WHERE @paused_event@)
  FROM paused p JOIN executions e ON e.id = p.id

--: why_items(foreach i64)
SELECT json_array_length(e.input) FROM executions e WHERE e.id = $1 AND e.input IS NOT NULL          --@ sqlite
SELECT json_array_length(e.input::json) FROM executions e WHERE e.id = $1 AND e.input IS NOT NULL    --@ postgres

-- The number of open executions in a subtree.
--: query_open(top i64)
WITH RECURSIVE tree(id, status) AS (
    SELECT id, status FROM executions WHERE id = $1
    UNION ALL
    SELECT c.id, c.status FROM tree t @children_of_t@
)
SELECT count(*) FROM tree WHERE status < S_SUCCEEDED

-- The first n open executions of a subtree that wait for an approval.
--: query_approvals(top i64, n i64)
WITH RECURSIVE tree(id, status, held, name) AS (
    SELECT id, status, held, name FROM executions WHERE id = $1
    UNION ALL
    SELECT c.id, c.status, c.held, c.name FROM tree t @children_of_t@
     WHERE t.status < S_SUCCEEDED
)
SELECT id, name FROM tree WHERE status < S_SUCCEEDED AND held = HELD_APPROVAL ORDER BY id LIMIT $2

-- The number of attempts, and the status, which shows whether the last one is running.
--: query_attempts(execution i64)
SELECT e.attempts, e.status FROM executions e WHERE e.id = $1
UNION ALL
SELECT 0, S_PENDING FROM submissions s WHERE s.id = $1 AND @waits@

-- ---- metrics

--: query_lease_totals()
SELECT count(*), count(*) - count(worker) FROM leases
