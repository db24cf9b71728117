-- A server that was promoted, or recovered to a point in time, runs on a new timeline. Commits of the old timeline may be
-- lost, while workers still run their attempts. `server_timeline` in settings is the timeline that an operator has
-- accepted, by `pawl admin fence`; on any other timeline, triggers refuse turns and SQL submissions.

-- NULL if it can't be known: on a standby, or if somebody has revoked the rights to these functions from PUBLIC. The
-- timeline is read from the name of the WAL file, which has the number of a new timeline before the first checkpoint
-- does.
CREATE FUNCTION server_timeline() RETURNS text LANGUAGE plpgsql AS $$                                                   --@ postgres
BEGIN                                                                                                                   --@ postgres
    IF pg_is_in_recovery() OR NOT (has_function_privilege('pg_control_system()', 'EXECUTE')                             --@ postgres
            AND has_function_privilege('pg_current_wal_insert_lsn()', 'EXECUTE')                                        --@ postgres
            AND has_function_privilege('pg_walfile_name(pg_lsn)', 'EXECUTE')) THEN                                      --@ postgres
        RETURN NULL;                                                                                                    --@ postgres
    END IF;                                                                                                             --@ postgres
    RETURN (SELECT system_identifier FROM pg_control_system())                                                          --@ postgres
           || '/' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8);                                        --@ postgres
END $$;                                                                                                                 --@ postgres

CREATE FUNCTION refuse_new_timeline() RETURNS trigger LANGUAGE plpgsql AS $$                                            --@ postgres
DECLARE                                                                                                                 --@ postgres
    accepted CONSTANT text := (SELECT value FROM settings WHERE name = 'server_timeline');                              --@ postgres
    current CONSTANT text := server_timeline();                                                                         --@ postgres
BEGIN                                                                                                                   --@ postgres
    IF accepted <> current THEN                                                                                         --@ postgres
        RAISE EXCEPTION 'the server has changed from timeline % to %: it was promoted or restored, and commits may be lost', --@ postgres
                        accepted, current                                                                               --@ postgres
              USING ERRCODE = '58T01',                                                                                  --@ postgres
                    HINT = 'Run `pawl admin fence --yes`; or, if certainly no commit was lost, `pawl admin fence --nothing-lost`.';   --@ postgres
    END IF;                                                                                                             --@ postgres
    RETURN NEW;                                                                                                         --@ postgres
END $$;                                                                                                                 --@ postgres

-- Turn 0 is not a turn: a process inserts it to find out whether its last turn is stored.
CREATE TRIGGER turns_refuse_new_timeline BEFORE INSERT ON turns                                                         --@ postgres
    FOR EACH ROW WHEN (NEW.turn > 0) EXECUTE FUNCTION refuse_new_timeline();                                            --@ postgres
CREATE TRIGGER submissions_refuse_new_timeline BEFORE INSERT ON submissions                                             --@ postgres
    FOR EACH ROW EXECUTE FUNCTION refuse_new_timeline();                                                                --@ postgres

INSERT INTO settings (name, value) SELECT 'server_timeline', t FROM server_timeline() AS t WHERE t IS NOT NULL;         --@ postgres
SELECT 1;                                                                                                               --@ sqlite
