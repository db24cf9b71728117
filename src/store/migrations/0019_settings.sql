-- Settings that all processes of the database share are rows `setting:NAME`. The version is raised with each change; every
-- turn reads it, so a process that caches such a setting notices the change.
INSERT INTO settings (name, value) VALUES ('settings_version', '1');

-- A process of an older version must end (see 0013_counters.sql): it would follow its own configuration file, would not count
-- its attempts (0018_attempts.sql), and would not give back the permit of a job with FLAG_CAPPED, which counts against the
-- limit of queue.cap (key:pawl:here).
DROP TRIGGER turns_refuse_older_schema ON turns;                                                   --@ postgres
DROP TRIGGER turns_refuse_older_schema;                                                            --@ sqlite
CREATE TRIGGER turns_refuse_older_schema BEFORE INSERT ON turns                                    --@ postgres
    FOR EACH ROW WHEN (NEW.schema_version IS NULL OR NEW.schema_version < 19)                      --@ postgres
    EXECUTE FUNCTION refuse_older_schema();                                                        --@ postgres
CREATE TRIGGER turns_refuse_older_schema BEFORE INSERT ON turns                                    --@ sqlite
WHEN NEW.schema_version IS NULL OR NEW.schema_version < 19                                         --@ sqlite
BEGIN SELECT RAISE(ABORT, 'a newer pawl has upgraded the schema of this database: restart this process with the newer pawl'); END;   --@ sqlite
UPDATE settings SET value = '19' WHERE name = 'minimum_schema';
