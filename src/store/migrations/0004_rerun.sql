-- An item of a fan-out by its number: one that runs again finds the row that it has. Neither changes.
CREATE INDEX executions_item ON executions (parent, task_index) WHERE task_index IS NOT NULL;

-- What a workflow that runs anew takes over from the one before it (executions.rerun_of): {"from": TASK} keeps what
-- does not come behind that task, {"failed": true} what succeeded before the first failure.
ALTER TABLE workflow_executions ADD COLUMN reuse TEXT;
