-- A tree as views show it (query/outline.c): all executions except the items of fan-outs, which are only counted. Some
-- running items and the first failed items are included, with all their descendants. So a view stays small however many
-- items there are.

-- The items of a fan-out t that are included: at most $2 running ones and at most $2 failed ones.
--= running_items x.parent = t.id AND t.kind = KIND_FOREACH AND x.status = S_RUNNING ORDER BY x.id LIMIT $2
--= failed_items x.parent = t.id AND t.kind = KIND_FOREACH AND x.status IN (S_FAILED, S_TIMED_OUT) ORDER BY x.id LIMIT $2

-- When the execution became ready in the run in which it first started, its last worker, the end of its delay, and why it was skipped or cancelled.
-- Each is one index probe, made only if it applies.
--= outlined (SELECT v.created_at FROM execution_events v WHERE v.root = e.root AND v.execution = e.id AND v.type = EV_MARKED_READY
--=+           AND (e.started_at IS NULL OR v.created_at <= e.started_at) ORDER BY v.seq DESC LIMIT 1),
--=+         (SELECT v.worker FROM execution_events v WHERE v.root = e.root AND v.execution = e.id
--=+           AND v.worker IS NOT NULL AND e.attempts > 0 ORDER BY v.seq DESC LIMIT 1),
--=+         (SELECT t.due_at FROM timers t WHERE e.held = HELD_DELAY AND t.execution = e.id AND t.kind + 0 = TIMER_DELAY LIMIT 1)
--= ended_for_reason e.status IN (S_CANCELLED, S_SKIPPED) AND v.root = e.root AND v.execution = e.id
--=+         AND v.type IN (EV_CANCEL_REQUESTED, EV_CANCELLED, EV_SKIPPED,
--=+                        WORKFLOW_EV_CANCEL_REQUESTED, WORKFLOW_EV_CANCELLED, WORKFLOW_EV_SKIPPED)

-- The items of a fan-out by status, as text, and their final number.
--= counted_items CASE WHEN e.kind = KIND_FOREACH THEN (
--=+           SELECT group_concat(i.status || ':' || i.n, ' ')                                --@ sqlite
--=+           SELECT string_agg(i.status || ':' || i.n, ' ')                                  --@ postgres
--=+             FROM (SELECT x.status, count(*) AS n FROM executions x WHERE x.parent = e.id GROUP BY x.status) i) END,
--=+         CASE WHEN e.kind = KIND_FOREACH AND e.input IS NOT NULL THEN json_array_length(e.input) END --@ sqlite
--=+         CASE WHEN e.kind = KIND_FOREACH AND e.input IS NOT NULL THEN json_array_length(e.input::json) END --@ postgres

--: query_outline(top i64, n i64)
WITH RECURSIVE tree(id, kind) AS (
    SELECT id, kind FROM executions WHERE id = $1
    UNION ALL
    SELECT c.id, c.kind
      FROM tree t CROSS JOIN executions c                                                  --@ sqlite
     WHERE c.id IN (SELECT x.id FROM executions x WHERE x.parent = t.id AND t.kind <> KIND_FOREACH --@ sqlite
                    UNION ALL SELECT i.id FROM (SELECT x.id FROM executions x WHERE @running_items@) i   --@ sqlite
                    UNION ALL SELECT i.id FROM (SELECT x.id FROM executions x WHERE @failed_items@) i)   --@ sqlite
      FROM tree t CROSS JOIN LATERAL (                                                     --@ postgres
               SELECT x.id, x.kind FROM executions x WHERE x.parent = t.id AND t.kind <> KIND_FOREACH --@ postgres
               UNION ALL (SELECT x.id, x.kind FROM executions x WHERE @running_items@)      --@ postgres
               UNION ALL (SELECT x.id, x.kind FROM executions x WHERE @failed_items@)) c    --@ postgres
)
SELECT @state@, e.error, @outlined@,
       (SELECT v.data FROM execution_events v WHERE @ended_for_reason@
           AND json_extract(v.data, '$.reason') IS NOT NULL                                --@ sqlite
           AND @data_pg@ ->> 'reason' IS NOT NULL                                          --@ postgres
         ORDER BY v.seq DESC LIMIT 1),
       @counted_items@
  FROM tree t JOIN executions e ON e.id = t.id LEFT JOIN leases l ON l.execution = e.id
UNION ALL
SELECT @submitted_state@, CAST(NULL AS text), CAST(NULL AS timestamptz), CAST(NULL AS bigint), CAST(NULL AS timestamptz),
       CAST(NULL AS text), CAST(NULL AS text), CAST(NULL AS integer)
  FROM submissions s WHERE s.id = $1 AND @waits@
 ORDER BY depth, requested_at, id

-- The children of an execution, without their own children: the tasks of a workflow for its graph.
--: query_graph(parent i64)
SELECT @state@, @counted_items@
  FROM executions e LEFT JOIN leases l ON l.execution = e.id
 WHERE e.parent = $1
 ORDER BY e.id
