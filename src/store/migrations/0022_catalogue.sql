-- The catalogue of applied workflows: every definition that was applied under a name, and the text it was applied from.

-- One row each time a name was bound to another definition. seq counts the rows of a name, from 1. A row is never changed;
-- retention deletes it with its definition, also if the name was deleted before. tasks, params and description repeat
-- facts of the definition, so that a list does not read the texts.
CREATE TABLE workflow_applications (
    name TEXT NOT NULL,
    seq bigint NOT NULL,
    applied_at timestamptz NOT NULL,
    tasks INTEGER NOT NULL,
    params INTEGER NOT NULL,
    hash TEXT NOT NULL,
    applied_by TEXT,
    description TEXT,
    PRIMARY KEY (name, seq)
);                                                          --@ postgres
) STRICT, WITHOUT ROWID;                                    --@ sqlite
CREATE INDEX workflow_applications_hash ON workflow_applications (hash);

-- Earlier versions stored only the last application of each name.
INSERT INTO workflow_applications (name, seq, applied_at, tasks, params, hash, applied_by, description)
SELECT n.name, 1, n.applied_at,
       COALESCE(json_array_length(d.definition::json -> 'tasks'), 0),                              --@ postgres
       COALESCE(json_array_length(d.definition::json -> 'params'), 0),                             --@ postgres
       n.hash, n.applied_by, d.definition::json ->> 'description'                                  --@ postgres
       COALESCE(json_array_length(d.definition, '$.tasks'), 0),                                    --@ sqlite
       COALESCE(json_array_length(d.definition, '$.params'), 0),                                   --@ sqlite
       n.hash, n.applied_by, json_extract(d.definition, '$.description')                           --@ sqlite
  FROM workflow_names n LEFT JOIN workflow_definitions d ON d.hash = n.hash;

-- Roles that were granted rights to `workflow_names` get them for the new table: they write both.
DO $$                                                                                                                --@ postgres
DECLARE                                                                                                              --@ postgres
    command text;                                                                                                    --@ postgres
BEGIN                                                                                                                --@ postgres
    FOR command IN                                                                                                   --@ postgres
        SELECT format('GRANT %s ON workflow_applications TO %s', a.privilege_type,                                   --@ postgres
                      CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END)        --@ postgres
          FROM pg_class c, aclexplode(c.relacl) a                                                                    --@ postgres
         WHERE c.oid = 'workflow_names'::regclass AND a.grantee <> c.relowner                                        --@ postgres
    LOOP                                                                                                             --@ postgres
        EXECUTE command;                                                                                             --@ postgres
    END LOOP;                                                                                                        --@ postgres
END $$;                                                                                                              --@ postgres

-- The text that the definition was last applied from, with its comments. Null if it was only submitted, or applied by an
-- earlier version.
ALTER TABLE workflow_definitions ADD COLUMN source TEXT;

-- The newest run of each name. A job, and a task of a workflow, is not in this index and costs nothing.
CREATE INDEX executions_runs ON executions (name, id) WHERE parent IS NULL AND kind = KIND_WORKFLOW;    --@ postgres
CREATE INDEX executions_runs ON executions (name) WHERE parent IS NULL AND kind = KIND_WORKFLOW;        --@ sqlite

-- A process of an older version must end (see 0013_counters.sql): it would apply workflows without recording it, and its
-- retention would leave the applications of the definitions that it deletes.
DROP TRIGGER turns_refuse_older_schema ON turns;                                                   --@ postgres
DROP TRIGGER turns_refuse_older_schema;                                                            --@ sqlite
CREATE TRIGGER turns_refuse_older_schema BEFORE INSERT ON turns                                    --@ postgres
    FOR EACH ROW WHEN (NEW.schema_version IS NULL OR NEW.schema_version < 22)                      --@ postgres
    EXECUTE FUNCTION refuse_older_schema();                                                        --@ postgres
CREATE TRIGGER turns_refuse_older_schema BEFORE INSERT ON turns                                    --@ sqlite
WHEN NEW.schema_version IS NULL OR NEW.schema_version < 22                                         --@ sqlite
BEGIN SELECT RAISE(ABORT, 'a newer pawl has upgraded the schema of this database: restart this process with the newer pawl'); END;   --@ sqlite
UPDATE settings SET value = '22' WHERE name = 'minimum_schema';
