-- Workflows (flow*.c): their definitions, their state, and the neighbours of a task.

--: definition_insert(at time; hash text, name text, definition text)
INSERT INTO workflow_definitions (hash, name, definition, created_at)
SELECT u.hash, u.name, u.definition, $1 FROM @rows@ AS u                                   --@ postgres
VALUES ($2, $3, $4, $1)                                                                    --@ sqlite
ON CONFLICT (hash) DO NOTHING

--: definition_read(hash text)
SELECT definition FROM workflow_definitions WHERE hash = $1

--: flow_insert(; execution i64, definition text, variables text)
INSERT INTO workflow_executions (execution, definition, variables)
SELECT * FROM @rows@ AS u                                                                  --@ postgres
VALUES ($1, $2, $3)                                                                        --@ sqlite
ON CONFLICT (execution) DO UPDATE SET definition = excluded.definition, variables = excluded.variables

--: flow_read(execution i64)
SELECT definition, variables FROM workflow_executions WHERE execution = $1

-- Tasks of a workflow by their names, with what they gave.
--: tasks_named(workflow i64; name text)
SELECT @state@, e.input, e.spec, e.result, e.error
  FROM @rows@ AS u JOIN executions e ON e.parent = $1 AND e.task_name = u.name AND e.task_index IS NULL   --@ postgres
  FROM executions e                                                                        --@ sqlite
  LEFT JOIN leases l ON l.execution = e.id
 WHERE e.parent = $1 AND e.task_name = $2 AND e.task_index IS NULL                         --@ sqlite

-- What a task gets to run by, when it becomes ready.
--: execution_resolve(; id i64, input text, spec text)
UPDATE executions AS e
   SET input = u.input, spec = u.spec FROM @rows@ AS u WHERE e.id = u.id                   --@ postgres
   SET input = $2, spec = $3 WHERE e.id = $1                                               --@ sqlite

--: execution_key(; id i64, concurrency text)
UPDATE executions AS e
   SET concurrency = u.concurrency FROM @rows@ AS u WHERE e.id = u.id                      --@ postgres
   SET concurrency = $2 WHERE e.id = $1                                                    --@ sqlite

-- The children of a fan-out, in order, a page at a time.
--: items_of(foreach i64, after i64, n i64)
SELECT e.task_index, e.status, e.result, e.id FROM executions e
 WHERE e.parent = $1 AND e.id > $2
 ORDER BY e.id LIMIT $3

-- The first that failed, for the error of what is above them.
--: failed_children(parent i64, n i64)
SELECT e.task_name, e.task_index, e.status, e.error FROM executions e
 WHERE e.parent = $1 AND e.status IN (5, 6)
 ORDER BY e.id LIMIT $2

-- Open children of a node, parents of more perhaps.
--: open_children(parent i64, n i64)
SELECT e.id FROM executions e WHERE e.parent = $1 AND e.status < 4 ORDER BY e.id LIMIT $2
