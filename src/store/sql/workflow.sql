-- Workflows (workflow/*.c): their definitions, their state, and the needs and followers of a task.

--: definition_insert(at time; hash text, name text, definition text)
INSERT INTO workflow_definitions (hash, name, definition, created_at, used_at)
SELECT u.hash, u.name, u.definition, $1, $1 FROM @rows@ AS u                               --@ postgres
VALUES ($2, $3, $4, $1, $1)                                                                --@ sqlite
ON CONFLICT (hash) DO NOTHING

--: definition_used(hash text)
SELECT used_at FROM workflow_definitions WHERE hash = $1

-- If another transaction deletes the row at the same time, either that transaction waits for this statement and then
-- sees that the definition is used, or this statement waits for it and returns no row.
--: definition_mark(hash text, at time)
UPDATE workflow_definitions SET used_at = $2 WHERE hash = $1 RETURNING hash

-- Deletes definitions that no stored execution uses, that are not applied under a name, that no waiting SQL submission
-- needs, and that were not marked as used since $1.
--: definitions_delete_unused(before time, n i64)
DELETE FROM workflow_definitions
 WHERE used_at < $1
   AND hash IN (SELECT d.hash FROM workflow_definitions d
                 WHERE d.used_at < $1
                   AND NOT EXISTS (SELECT 1 FROM workflow_executions w WHERE w.definition = d.hash)
                   AND NOT EXISTS (SELECT 1 FROM workflow_names m WHERE m.hash = d.hash)
                   AND NOT EXISTS (SELECT 1 FROM submissions s
                                    WHERE s.definition = d.hash AND s.execution IS NULL AND s.error IS NULL)
                 ORDER BY d.used_at LIMIT $2)
RETURNING hash

-- Deletes the applications of deleted definitions.
--: applications_delete(; hash text)
DELETE FROM workflow_applications AS a @given@ WHERE a.hash = ANY (:hash)

--: definition_read(hash text)
SELECT definition FROM workflow_definitions WHERE hash = $1

--: workflow_insert(; execution i64, definition text, variables text, reuse text)
INSERT INTO workflow_executions @given@
ON CONFLICT (execution) DO UPDATE SET definition = excluded.definition, variables = excluded.variables

-- The progress of a workflow that starts in slices (struct workflow_state).
--: workflow_progress(execution i64, reuse_left i32, start_left i32)
UPDATE workflow_executions SET reuse_left = $2, start_left = $3 WHERE execution = $1

--: workflow_read(; execution i64)
SELECT w.execution, w.definition, w.variables, w.reuse, w.reuse_left, w.start_left
  FROM workflow_executions w @given@ WHERE w.execution = ANY (:execution)

-- How a workflow was started: its definition, variables, queue, priority and parent.
--: workflow_start_info(execution i64)
SELECT d.definition, w.variables, e.queue, e.priority, e.parent
  FROM workflow_executions w JOIN workflow_definitions d ON d.hash = w.definition JOIN executions e ON e.id = w.execution
 WHERE w.execution = $1

-- Tasks of workflows by name, with their outputs.
--: tasks_named(; workflow i64, name text)
SELECT @state@, e.input, e.spec, e.result, e.error
  FROM @rows@ AS u @task_of_u@                                                             --@ postgres
  LEFT JOIN leases l ON l.execution = ANY (ARRAY[e.id])                                    --@ postgres
  FROM executions e LEFT JOIN leases l ON l.execution = e.id                               --@ sqlite
 WHERE e.parent = $1 AND e.task_name = $2 AND e.task_index IS NULL                         --@ sqlite

-- Sets the input, spec and lane of a job when it becomes ready.
--: execution_resolve(; id i64, input text, spec text, lane text)
UPDATE executions AS e
   SET input = :input, spec = :spec, lane = :lane @given@ WHERE e.id = ANY (:id)

--: execution_lane(; id i64, lane text)
UPDATE executions AS e
   SET lane = :lane @given@ WHERE e.id = ANY (:id)

--: execution_key(; id i64, concurrency text)
UPDATE executions AS e
   SET concurrency = :concurrency @given@ WHERE e.id = ANY (:id)

-- The result and error that a rerun moves into the history.
--: outcome_of(id i64)
SELECT result, error FROM executions WHERE id = $1

-- The states of all tasks of a workflow, in pages.
--: task_states(workflow i64, after text, n i64)
SELECT e.task_name, e.id, e.status, e.flags, e.held, e.notify_left FROM executions e
 WHERE e.parent = $1 AND e.task_name > $2 AND e.task_index IS NULL
 ORDER BY e.task_name LIMIT $3

-- The values of all tasks of a workflow, as expressions see them, in pages.
--: task_values(workflow i64, after text, n i64)
SELECT e.task_name, e.id, e.kind, e.status, e.result, e.error FROM executions e
 WHERE e.parent = $1 AND e.task_name > $2 AND e.task_index IS NULL
 ORDER BY e.task_name LIMIT $3

-- The outcomes of the tasks of an earlier run.
--: ended_tasks(; workflow i64, name text)
SELECT e.task_name, e.id, e.status, e.result
  FROM @rows@ AS u @task_of_u@                                                             --@ postgres
  FROM executions e WHERE e.parent = $1 AND e.task_name = $2 AND e.task_index IS NULL      --@ sqlite

--: fan_out_of(workflow i64, name text)
SELECT e.id, e.children_made, e.input FROM executions e
 WHERE e.parent = $1 AND e.task_name = $2 AND e.task_index IS NULL AND e.kind = KIND_FOREACH

--: succeeded_items(foreach i64, at i64, before i64)
SELECT e.task_index, e.id, e.result FROM executions e
 WHERE e.parent = $1 AND e.task_index >= $2 AND e.task_index < $3 AND e.status = S_SUCCEEDED
 ORDER BY e.task_index

-- The attempts that a job got in addition to those that it was submitted with: for attempts that did not count
-- (deferred, released), or by an earlier rerun.
--: attempts_granted(root i64, id i64)
WITH granted AS (
    SELECT seq, type, attempt FROM execution_events WHERE root = $1 AND execution = $2 AND type IN (EV_DEFERRED, EV_RELEASED, EV_RERUN)
), last(seq, attempt) AS (
    SELECT COALESCE(max(seq), 0), COALESCE(max(attempt), 0) FROM granted WHERE type = EV_RERUN
)
SELECT l.attempt + (SELECT count(*) FROM granted g WHERE g.type <> EV_RERUN AND g.seq > l.seq) FROM last l

-- When a workflow or fan-out last started.
--: last_started_at(root i64, id i64)
SELECT v.created_at FROM execution_events v
 WHERE v.root = $1 AND v.execution = $2 AND v.type = WORKFLOW_EV_STARTED
 ORDER BY v.seq DESC LIMIT 1

-- The existing items of a fan-out whose index is at least $2 and below $3.
--: items_from(foreach i64, at i64, before i64)
SELECT @state@
  FROM executions e
  LEFT JOIN leases l ON l.execution = ANY (ARRAY[e.id])                                    --@ postgres
  LEFT JOIN leases l ON l.execution = e.id                                                 --@ sqlite
 WHERE e.parent = $1 AND e.task_index >= $2 AND e.task_index < $3
 ORDER BY e.task_index

-- Whether items of a fan-out with an index below $2 failed or timed out, and whether any were cancelled. Items that run
-- again do not count.
--: items_failed_or_cancelled(foreach i64, before i64)
SELECT COALESCE(max(CASE WHEN e.status IN (S_FAILED, S_TIMED_OUT) THEN 1 ELSE 0 END), 0),
       COALESCE(max(CASE WHEN e.status = S_CANCELLED THEN 1 ELSE 0 END), 0)
  FROM executions e WHERE e.parent = $1 AND e.task_index < $2

-- The outputs of items in the order of the list; the order of ids may differ.
--: items_outputs(foreach i64, at i64, before i64)
SELECT e.task_index, e.status, e.result, e.error FROM executions e
 WHERE e.parent = $1 AND e.task_index >= $2 AND e.task_index < $3
 ORDER BY e.task_index

-- The first failed children, for the error of their parent.
--: failed_children(parent i64, n i64)
SELECT e.task_name, e.task_index, e.status, e.error FROM executions e
 WHERE e.parent = $1 AND e.status IN (S_FAILED, S_TIMED_OUT)
 ORDER BY e.id LIMIT $2
