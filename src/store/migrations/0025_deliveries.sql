-- Webhooks that report ends of executions. url: where to; null for a webhook that starts a workflow. statuses: the bits
-- 1 << S_... of the ends that are reported. workflow, queue: only those; null for any. tasks: 1 if the ends of executions
-- with a parent are reported, too.
ALTER TABLE hooks ADD COLUMN url TEXT;
ALTER TABLE hooks ADD COLUMN statuses INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hooks ADD COLUMN workflow TEXT;
ALTER TABLE hooks ADD COLUMN queue TEXT;
ALTER TABLE hooks ADD COLUMN tasks smallint NOT NULL DEFAULT 0;

-- A process of an older version must end (see 0013_counters.sql): it would end executions without reporting them.
DROP TRIGGER turns_refuse_older_schema ON turns;                                                   --@ postgres
DROP TRIGGER turns_refuse_older_schema;                                                            --@ sqlite
CREATE TRIGGER turns_refuse_older_schema BEFORE INSERT ON turns                                    --@ postgres
    FOR EACH ROW WHEN (NEW.schema_version IS NULL OR NEW.schema_version < 25)                      --@ postgres
    EXECUTE FUNCTION refuse_older_schema();                                                        --@ postgres
CREATE TRIGGER turns_refuse_older_schema BEFORE INSERT ON turns                                    --@ sqlite
WHEN NEW.schema_version IS NULL OR NEW.schema_version < 25                                         --@ sqlite
BEGIN SELECT RAISE(ABORT, 'a newer pawl has upgraded the schema of this database: restart this process with the newer pawl'); END;   --@ sqlite
UPDATE settings SET value = '25' WHERE name = 'minimum_schema';
