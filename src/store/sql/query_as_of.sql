-- Trees as of an earlier moment (query/as_of.c): their rows, of which only columns that never change are used, and
-- the whole history of each, by the index on (root, execution, seq).

-- Reads the texts only if $2 = 1. Reads all descendants if $3 = 1, otherwise only the tasks of a workflow.
--: query_as_of_rows(top i64, texts i64, deep i64)
WITH RECURSIVE tree(id, kind) AS (
    SELECT id, kind FROM executions WHERE id = $1
    UNION ALL
    SELECT c.id, c.kind FROM tree t @children_of_t@
     WHERE $3 = 1 OR (t.id = $1 AND t.kind = KIND_WORKFLOW)
)
SELECT @job@, @no_lease@,
       CASE WHEN $2 = 1 THEN e.input END, CASE WHEN $2 = 1 THEN e.result END, CAST(NULL AS text), CAST(NULL AS text),
       (SELECT f.definition FROM workflow_executions f WHERE e.kind = KIND_WORKFLOW AND f.execution = e.id),
       (SELECT f.variables FROM workflow_executions f WHERE $2 = 1 AND e.kind = KIND_WORKFLOW AND f.execution = e.id),
       CASE WHEN e.kind = KIND_FOREACH AND e.input IS NOT NULL THEN json_array_length(e.input) END --@ sqlite
       CASE WHEN e.kind = KIND_FOREACH AND e.input IS NOT NULL THEN json_array_length(e.input::json) END --@ postgres
  FROM tree t JOIN executions e ON e.id = t.id
 ORDER BY e.depth, e.requested_at, e.id

--: query_as_of_events(; root i64, execution i64)
SELECT @event@
  FROM @rows@ AS u CROSS JOIN LATERAL (SELECT x.* FROM execution_events x                  --@ postgres
                                        WHERE x.root = u.root AND x.execution = u.execution OFFSET 0) v   --@ postgres
 ORDER BY v.execution, v.seq                                                               --@ postgres
  FROM execution_events v WHERE v.root = $1 AND v.execution = $2 ORDER BY v.seq            --@ sqlite
