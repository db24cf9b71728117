-- The invariants of trees and workflows. The statements have the form that verify.sql describes; the last ones read pages for
-- the checks in verify/graph_rules.c.

--: verify_tree(max i64)
--! I30 c.id, CASE WHEN c.parent IS NULL THEN 'it has no parent, but root ' || c.root || ', depth ' || c.depth
                                  || ', workflow ' || COALESCE(c.workflow, 0)
           WHEN p.id IS NULL THEN 'its parent ' || c.parent || ' does not exist'
           ELSE 'it has root ' || c.root || ', depth ' || c.depth || ', workflow ' || COALESCE(c.workflow, 0)
                || ' below parent ' || p.id || ' with root ' || p.root || ', depth ' || p.depth || ', workflow '
                || COALESCE(p.workflow, 0) END
      FROM executions c LEFT JOIN executions p ON p.id = c.parent
     WHERE CASE WHEN c.parent IS NULL THEN c.root <> c.id OR c.depth <> 0 OR c.workflow IS NOT NULL
           ELSE p.id IS NULL OR c.root <> p.root OR c.depth <> p.depth + 1
                OR COALESCE(c.workflow, 0) <> COALESCE(CASE WHEN p.kind = KIND_WORKFLOW THEN p.id ELSE p.workflow END, 0) END

-- Ids rise with time, so nearly every parent has a lower id than its child. In a cycle, at least one parent's id is not
-- lower than its child's, so it is enough to walk up from such parents.
--: verify_cycles(max i64)
WITH RECURSIVE up(start, at) AS (
    SELECT id, parent FROM executions WHERE parent >= id
    UNION
    SELECT u.start, e.parent FROM up u JOIN executions e ON e.id = u.at WHERE e.parent IS NOT NULL AND u.at <> u.start
)
--! I31 start, 'it is its own ancestor' FROM up WHERE at = start

-- Counts open executions for the execution that waits for them (an item for its fan-out; all others, that is tasks and
-- executions submitted by tasks, for the nearest workflow above) and compares the count with children_open. Trees without
-- a definition count nothing: their creator ends them. But a task or an item belongs to a definition even if its own
-- row in workflow_executions is missing (I37).
--: verify_open(max i64)
WITH RECURSIVE counted AS NOT MATERIALIZED (
    SELECT CASE WHEN p.kind = KIND_FOREACH AND e.task_name IS NOT NULL THEN p.id ELSE e.workflow END AS id, 1 AS n, 0 AS status,
           0 AS children_open
      FROM executions e JOIN executions p ON p.id = e.parent WHERE e.status < S_SUCCEEDED
    UNION ALL
    SELECT id, 0, status, COALESCE(children_open, 0) FROM executions WHERE kind > KIND_EXEC AND status > S_READY
), suspects AS MATERIALIZED (
    SELECT id, sum(n) AS n, max(status) AS status, max(children_open) AS children_open FROM counted WHERE id IS NOT NULL GROUP BY id
    HAVING (max(status) >= S_SUCCEEDED AND sum(n) > 0) OR (max(status) = S_RUNNING AND (sum(n) = 0 OR sum(n) <> max(children_open)))
), running AS MATERIALIZED (
    SELECT s.id, s.n, s.children_open, f.parent, f.held FROM suspects s JOIN executions f ON f.id = s.id
     WHERE s.status = S_RUNNING
       AND EXISTS (SELECT 1 FROM workflow_executions w
                    WHERE w.execution IN (f.id, CASE WHEN f.kind = KIND_FOREACH OR f.task_name IS NOT NULL THEN f.workflow END))
), idle(id, at, parent, held) AS (
    SELECT id, id, parent, held FROM running WHERE n = 0
    UNION
    SELECT i.id, e.id, e.parent, e.held FROM idle i JOIN executions e ON e.id = i.parent
), excused(id) AS MATERIALIZED (
    SELECT id FROM idle i WHERE held <> HELD_NONE OR EXISTS (SELECT 1 FROM timers t WHERE t.execution = i.at AND t.kind = TIMER_CONTINUE)
)
--! I32 id, 'it is {status:' || status || '}, but ' || n || ' executions below it are open' FROM suspects WHERE status >= S_SUCCEEDED
--! I32 id, 'it is running, but nothing below it is open' FROM running
     WHERE n = 0 AND id NOT IN (SELECT id FROM excused)
--! I35 id, 'it counts ' || children_open || ' open executions below it, but there are ' || n FROM running WHERE children_open <> n

-- A pending execution waits for its needs (checked in graph_rules.c), for a hold to end, or for a timer.
--: verify_pending(max i64)
--! I35 e.id, 'it is pending, but nothing will start it' FROM executions e
     WHERE e.status = S_PENDING AND e.held = HELD_NONE AND NOT EXISTS (SELECT 1 FROM timers t WHERE t.execution = e.id)
       AND NOT (e.task_name IS NOT NULL AND EXISTS (SELECT 1 FROM workflow_executions w WHERE w.execution = e.workflow))

-- A workflow without a definition has created no tasks and is not itself a task of a workflow with a definition. A
-- workflow that was never started needs no row in workflow_executions.
--: verify_snapshots(max i64)
--! I37 e.id, 'it was started from a definition, but has no row in workflow_executions' FROM executions e
     WHERE e.kind = KIND_WORKFLOW AND e.status <> S_PENDING AND e.started_at IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM workflow_executions w WHERE w.execution = e.id)
       AND (e.children_made > 0 OR (e.task_name IS NOT NULL
                             AND EXISTS (SELECT 1 FROM workflow_executions w WHERE w.execution = e.workflow)))
--! I37 w.execution, 'its definition ' || w.definition || ' is not stored' FROM workflow_executions w
     WHERE NOT EXISTS (SELECT 1 FROM workflow_definitions d WHERE d.hash = w.definition)
--! I37 e.id, 'it has a definition, but is not a workflow' FROM workflow_executions w
      JOIN executions e ON e.id = w.execution WHERE e.kind <> KIND_WORKFLOW

-- ---- workflows compared with their definitions (verify/workflows.c)

-- Workflows and fan-outs by id; verify_child_page reads their children by parent, so both walks have the same order.
-- `definition` is that of the workflow itself, or of the workflow that the fan-out belongs to. The list of a fan-out is
-- included only if it is short; a long one is read when it is needed.
--: verify_workflow_page(after i64)
SELECT f.id, f.kind, f.status, f.children_made, f.flags, f.cancel_requested, w.definition, v.from_status,
       CASE WHEN EXISTS (SELECT 1 FROM settings s WHERE s.name = 'retaining:' || f.root) THEN 1 ELSE 0 END,
       f.error, CASE WHEN f.kind = KIND_FOREACH AND length(f.input) <= 10000 THEN f.input END
  FROM (SELECT * FROM executions WHERE id > $1 AND kind > KIND_EXEC ORDER BY id LIMIT 1000) AS f
  LEFT JOIN workflow_executions w ON w.execution = CASE f.kind WHEN KIND_WORKFLOW THEN f.id ELSE f.workflow END
  LEFT JOIN execution_events v ON v.root = f.root AND v.execution = f.id AND v.seq = f.seq
 ORDER BY f.id

--: verify_child_page(parent i64, id i64)
SELECT e.parent, e.id, e.status, e.held, e.needs_left, e.needs_succeeded, e.notify_left, e.flags,
       CASE WHEN e.started_at IS NULL THEN 0 ELSE 1 END, e.task_index, e.task_name
  FROM executions e
 WHERE (e.parent, e.id) > ($1, $2) AND e.parent IS NOT NULL AND e.task_name IS NOT NULL
 ORDER BY e.parent, e.id LIMIT 1000

-- Whether the execution will continue: it or an ancestor has a timer that continues large work, or a hold that will end.
--: verify_will_continue(id i64)
WITH RECURSIVE up(id, parent, held) AS (
    SELECT id, parent, held FROM executions WHERE id = $1
    UNION
    SELECT e.id, e.parent, e.held FROM up JOIN executions e ON e.id = up.parent
)
SELECT 1 FROM up WHERE held <> HELD_NONE OR EXISTS (SELECT 1 FROM timers t WHERE t.execution = up.id AND t.kind = TIMER_CONTINUE) LIMIT 1

-- Whether the execution itself has a timer that continues large work.
--: verify_own_timer(id i64)
SELECT 1 FROM timers WHERE execution = $1 AND kind = TIMER_CONTINUE LIMIT 1
