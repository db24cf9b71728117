-- A job with FLAG_CAPPED counts against the limit of queue.cap (key:pawl:here). Processes of older versions would not give
-- its permit back, so they must end: see 0013_counters.sql.
DROP TRIGGER turns_refuse_older_schema ON turns;                                                   --@ postgres
CREATE TRIGGER turns_refuse_older_schema BEFORE INSERT ON turns                                    --@ postgres
    FOR EACH ROW WHEN (NEW.schema_version IS NULL OR NEW.schema_version < 17)                      --@ postgres
    EXECUTE FUNCTION refuse_older_schema();                                                        --@ postgres
DROP TRIGGER turns_refuse_older_schema;                                                            --@ sqlite
CREATE TRIGGER turns_refuse_older_schema BEFORE INSERT ON turns                                    --@ sqlite
WHEN NEW.schema_version IS NULL OR NEW.schema_version < 17                                         --@ sqlite
BEGIN SELECT RAISE(ABORT, 'a newer pawl has upgraded the schema of this database: restart this process with the newer pawl'); END;   --@ sqlite
UPDATE settings SET value = '17' WHERE name = 'minimum_schema';
