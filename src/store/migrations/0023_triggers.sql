-- Workflows that start when a run of another workflow ends (`on: workflow`).

-- The workflows that the definition of an applied name follows. statuses: the bits 1 << S_... of the ends that start a
-- run. Repeats facts of the definition, so that the end of a run reads no text.
CREATE TABLE workflow_triggers (
    workflow TEXT NOT NULL,
    source TEXT NOT NULL,
    statuses INTEGER NOT NULL,
    PRIMARY KEY (workflow, source)
);                                                          --@ postgres
) STRICT, WITHOUT ROWID;                                    --@ sqlite

-- A submission that the end of a run made: the run, the number of the event that ended it, the position of the trigger in
-- its definition, and how many runs before it started each other in this way. Null for pawl_submit().
ALTER TABLE submissions ADD COLUMN source bigint;
ALTER TABLE submissions ADD COLUMN source_seq INTEGER;
ALTER TABLE submissions ADD COLUMN trigger_number INTEGER;
ALTER TABLE submissions ADD COLUMN chain INTEGER;
-- An end starts each follower once.
CREATE UNIQUE INDEX submissions_source ON submissions (source, source_seq, workflow, trigger_number)
 WHERE source IS NOT NULL;

-- The view gets a last column, source.
CREATE OR REPLACE VIEW pawl_submissions AS                                                                          --@ postgres
DROP VIEW pawl_submissions;                                                                                         --@ sqlite
CREATE VIEW pawl_submissions AS                                                                                     --@ sqlite
SELECT s.id, s.workflow,
       CASE WHEN s.error IS NOT NULL THEN 'refused' WHEN s.execution IS NOT NULL THEN 'taken' ELSE 'waiting' END AS status,
       s.execution, s.error, s.key, s.queue, s.priority, s.requested_by,
       s.delay * interval '1 microsecond' AS delay, s.params::json AS params, s.requested_at, s.decided_at,         --@ postgres
       s.delay, s.params,                                                                                           --@ sqlite
       strftime('%Y-%m-%dT%H:%M:%S', s.requested_at / 1000000, 'unixepoch') || printf('.%06dZ', s.requested_at % 1000000)   --@ sqlite
           AS requested_at,                                                                                         --@ sqlite
       strftime('%Y-%m-%dT%H:%M:%S', s.decided_at / 1000000, 'unixepoch') || printf('.%06dZ', s.decided_at % 1000000)   --@ sqlite
           AS decided_at,                                                                                           --@ sqlite
       s.source
  FROM submissions s;

-- Roles that were granted rights to `workflow_names` get them for the new table: they write both.
DO $$                                                                                                                --@ postgres
DECLARE                                                                                                              --@ postgres
    command text;                                                                                                    --@ postgres
BEGIN                                                                                                                --@ postgres
    FOR command IN                                                                                                   --@ postgres
        SELECT format('GRANT %s ON workflow_triggers TO %s', a.privilege_type,                                       --@ postgres
                      CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END)        --@ postgres
          FROM pg_class c, aclexplode(c.relacl) a                                                                    --@ postgres
         WHERE c.oid = 'workflow_names'::regclass AND a.grantee <> c.relowner                                        --@ postgres
    LOOP                                                                                                             --@ postgres
        EXECUTE command;                                                                                             --@ postgres
    END LOOP;                                                                                                        --@ postgres
END $$;                                                                                                              --@ postgres

-- A process of an older version must end (see 0013_counters.sql): it would end runs without starting their followers.
DROP TRIGGER turns_refuse_older_schema ON turns;                                                   --@ postgres
DROP TRIGGER turns_refuse_older_schema;                                                            --@ sqlite
CREATE TRIGGER turns_refuse_older_schema BEFORE INSERT ON turns                                    --@ postgres
    FOR EACH ROW WHEN (NEW.schema_version IS NULL OR NEW.schema_version < 23)                      --@ postgres
    EXECUTE FUNCTION refuse_older_schema();                                                        --@ postgres
CREATE TRIGGER turns_refuse_older_schema BEFORE INSERT ON turns                                    --@ sqlite
WHEN NEW.schema_version IS NULL OR NEW.schema_version < 23                                         --@ sqlite
BEGIN SELECT RAISE(ABORT, 'a newer pawl has upgraded the schema of this database: restart this process with the newer pawl'); END;   --@ sqlite
UPDATE settings SET value = '23' WHERE name = 'minimum_schema';
