-- Workflows: definitions by the hash of their text, names that people gave them, and the orchestration state of those
-- that run. A workflow execution is the execution of the same id.

CREATE TABLE workflow_definitions (
    hash TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    definition TEXT NOT NULL,
    created_at timestamptz NOT NULL
);                                                          --@ postgres
) STRICT, WITHOUT ROWID;                                    --@ sqlite

-- What `apply` stored under a name; the definitions before it stay for those that run.
CREATE TABLE workflow_names (
    name TEXT PRIMARY KEY,
    hash TEXT NOT NULL,
    applied_at timestamptz NOT NULL,
    applied_by TEXT
);                                                          --@ postgres
) STRICT, WITHOUT ROWID;                                    --@ sqlite

-- definition: the snapshot that it runs by. variables: {"params": …, "vars": …}.
CREATE TABLE workflow_executions (
    execution bigint PRIMARY KEY,
    definition TEXT NOT NULL,
    variables TEXT NOT NULL
);                                                          --@ postgres
) STRICT;                                                   --@ sqlite

-- A task of a workflow by its name. Neither changes.
CREATE INDEX executions_task ON executions (parent, task_name) WHERE task_name IS NOT NULL AND task_index IS NULL;
