-- When a definition was last used, to within a day: one that nothing needs any more goes with retention. Null: not since
-- a version that did not say so.
ALTER TABLE workflow_definitions ADD COLUMN used_at timestamptz;
UPDATE workflow_definitions SET used_at = created_at;
CREATE INDEX workflow_definitions_used ON workflow_definitions (used_at);

-- What runs by a definition, and which names mean it. Neither changes often.
CREATE INDEX workflow_executions_definition ON workflow_executions (definition);
CREATE INDEX workflow_names_hash ON workflow_names (hash);
