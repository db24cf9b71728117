-- Workflows that start when a run of another workflow ends (schedule/apply_triggers.c, workflow/follow_runs.c).

-- ---- apply

--: triggers_of(workflow text)
SELECT g.source, g.statuses FROM workflow_triggers g WHERE g.workflow = $1 ORDER BY g.source

--: triggers_delete(workflow text)
DELETE FROM workflow_triggers WHERE workflow = $1

--: trigger_insert(; workflow text, source text, statuses i32)
INSERT INTO workflow_triggers @given@

-- ---- the end of a run

-- All of them: a store reads them once for each version of the settings.
--: triggers_all()
SELECT g.source, g.workflow, g.statuses FROM workflow_triggers g ORDER BY g.source, g.workflow

--: trigger_definition(workflow text)
SELECT n.hash FROM workflow_names n WHERE n.name = $1

-- How many runs started each other before this one; no row if no run started it.
--: trigger_chain(execution i64)
SELECT s.chain FROM submissions s WHERE s.execution = $1 AND s.chain IS NOT NULL

--: trigger_submission(id i64, at time, workflow text, definition text, params text, by text, source i64, source_seq i32,
--:+                  number i32, chain i32, error text, decided_at time)
INSERT INTO submissions (id, requested_at, delay, priority, workflow, definition, params, requested_by, source, source_seq,
                         trigger_number, chain, error, decided_at)
VALUES ($1, $2, 0, 0, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
