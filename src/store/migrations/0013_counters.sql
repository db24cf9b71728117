-- One column for each counter of an execution. `cursor` and `needs_left` had several meanings, by kind and status, and
-- `failed_behind` held all flags, one of which (FLAG_NOTIFYING) said that `needs_left` counted followers.
--
--   needs_left, needs_succeeded    a task: needs that have not ended, and needs that succeeded
--   children_open, children_made   a workflow or fan-out: open children, and tasks or items created
--   notify_left                    an ended task: followers that have not been notified of its end
--   workflow_executions:
--   reuse_left, start_left         all tasks exist: those not considered yet, first for a result of the earlier
--                                  execution, then for a start because they have no needs
--
-- The new columns are null for 0, which is what almost all rows have: a null costs nothing on PostgreSQL. No row is
-- rewritten except those of workflows, fan-outs and tasks with followers to notify.

-- A turn locks `turns` first, too: in another order, the migration and a turn could wait for each other.
LOCK TABLE turns, executions IN ACCESS EXCLUSIVE MODE;      --@ postgres

ALTER TABLE executions RENAME COLUMN failed_behind TO flags;
ALTER TABLE executions RENAME COLUMN cursor TO needs_succeeded;
ALTER TABLE executions ADD COLUMN children_open INTEGER;
ALTER TABLE executions ADD COLUMN children_made INTEGER;
ALTER TABLE executions ADD COLUMN notify_left INTEGER;
ALTER TABLE workflow_executions ADD COLUMN reuse_left INTEGER;
ALTER TABLE workflow_executions ADD COLUMN start_left INTEGER;

-- In a workflow of n tasks the cursor was below n while tasks were created, n + i after i tasks were considered for a
-- start, 2 n + i after i tasks were considered for reuse, and n afterwards. Only the first is a number of tasks.
-- (PostgreSQL can't read the escape for NUL in JSON; any other character will do here.)
WITH sizes(hash, n) AS MATERIALIZED (
    SELECT d.hash, json_array_length(d.definition, '$.tasks') FROM workflow_definitions d       --@ sqlite
    SELECT d.hash, json_array_length(replace(d.definition, '\u0000', '\u0001')::json -> 'tasks')   --@ postgres
      FROM workflow_definitions d                                                          --@ postgres
)
UPDATE workflow_executions AS w
   SET reuse_left = CASE WHEN e.needs_succeeded >= 2 * s.n THEN 3 * s.n - e.needs_succeeded END,
       start_left = CASE WHEN e.needs_succeeded < 2 * s.n THEN 2 * s.n - e.needs_succeeded END
  FROM executions e, sizes s
 WHERE e.id = w.execution AND s.hash = w.definition AND e.kind = KIND_WORKFLOW AND e.status = S_RUNNING
   AND e.needs_succeeded > s.n;
WITH sizes(hash, n) AS MATERIALIZED (
    SELECT d.hash, json_array_length(d.definition, '$.tasks') FROM workflow_definitions d       --@ sqlite
    SELECT d.hash, json_array_length(replace(d.definition, '\u0000', '\u0001')::json -> 'tasks')   --@ postgres
      FROM workflow_definitions d                                                          --@ postgres
)
UPDATE executions AS e
   SET needs_succeeded = s.n
  FROM workflow_executions w, sizes s
 WHERE e.id = w.execution AND s.hash = w.definition AND e.kind = KIND_WORKFLOW AND e.status >= S_RUNNING
   AND e.started_at IS NOT NULL AND e.flags & FLAG_NOT_STARTED = 0 AND e.needs_succeeded > s.n;

UPDATE executions
   SET notify_left = needs_left, needs_left = 0, flags = flags & ~FLAG_NOTIFYING
 WHERE flags & FLAG_NOTIFYING <> 0;
UPDATE executions
   SET children_open = NULLIF(needs_left, 0), children_made = NULLIF(needs_succeeded, 0), needs_left = 0, needs_succeeded = 0
 WHERE kind > KIND_EXEC AND status >= S_RUNNING AND started_at IS NOT NULL AND flags & FLAG_NOT_STARTED = 0;

-- Processes of older versions do not know these columns and must end. Each turn states the version of the schema that its
-- process supports, and a turn of an older process is refused. Workers of older versions read the setting `generation`
-- with each heartbeat and end, but leave their commands running, if it is not the one that they started with; the
-- generation itself has another name from now on, and its value stays. Later versions read `minimum_schema` in its place:
-- a migration that its predecessor can't live with raises it, and replaces the trigger.
ALTER TABLE turns ADD COLUMN schema_version INTEGER;
CREATE FUNCTION refuse_older_schema() RETURNS trigger LANGUAGE plpgsql AS $$                       --@ postgres
BEGIN                                                                                              --@ postgres
    RAISE EXCEPTION 'a newer pawl has upgraded the schema of this database: restart this process with the newer pawl'   --@ postgres
          USING ERRCODE = 'invalid_schema_name';                                                   --@ postgres
END $$;                                                                                            --@ postgres
CREATE TRIGGER turns_refuse_older_schema BEFORE INSERT ON turns                                    --@ postgres
    FOR EACH ROW WHEN (NEW.schema_version IS NULL OR NEW.schema_version < 13)                      --@ postgres
    EXECUTE FUNCTION refuse_older_schema();                                                        --@ postgres
CREATE TRIGGER turns_refuse_older_schema BEFORE INSERT ON turns                                    --@ sqlite
WHEN NEW.schema_version IS NULL OR NEW.schema_version < 13                                         --@ sqlite
BEGIN SELECT RAISE(ABORT, 'a newer pawl has upgraded the schema of this database: restart this process with the newer pawl'); END;   --@ sqlite

INSERT INTO settings SELECT 'fence_generation', value FROM settings WHERE name = 'generation';
UPDATE settings SET value = '0' WHERE name = 'generation';
INSERT INTO settings (name, value) VALUES ('minimum_schema', '13');
