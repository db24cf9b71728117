-- A tenant's role owns nothing: the role that administers Pawl owns the schema and all that is in it (schema_owner.c).
-- Partitions of the history are made and dropped with its rights, by names that the caller can't set up.
-- PUBLIC could call these functions. A role that may insert events keeps the right to make partitions, and one that may
-- delete events keeps the right to drop those that are empty: workers that connect as such a role call them.
DO $$                                                                                                                --@ postgres
DECLARE                                                                                                              --@ postgres
    command text;                                                                                                    --@ postgres
BEGIN                                                                                                                --@ postgres
    FOR command IN                                                                                                   --@ postgres
        SELECT format('GRANT EXECUTE ON FUNCTION %s TO %I', f.id, pg_get_userbyid(a.grantee))                        --@ postgres
          FROM pg_class c, aclexplode(c.relacl) a,                                                                   --@ postgres
               (VALUES ('INSERT', 'make_event_partitions(bigint)'::regprocedure),                                    --@ postgres
                       ('DELETE', 'drop_event_partitions(bigint)'::regprocedure)) AS f(privilege, id)                --@ postgres
         WHERE c.oid = 'execution_events'::regclass AND a.privilege_type = f.privilege                               --@ postgres
           AND a.grantee NOT IN (0, c.relowner) AND has_function_privilege(a.grantee, f.id, 'EXECUTE')               --@ postgres
    LOOP                                                                                                             --@ postgres
        EXECUTE command;                                                                                             --@ postgres
    END LOOP;                                                                                                        --@ postgres
END $$;                                                                                                              --@ postgres
REVOKE ALL ON FUNCTION make_event_partitions FROM PUBLIC;                                                            --@ postgres
REVOKE ALL ON FUNCTION drop_event_partitions FROM PUBLIC;                                                            --@ postgres
DO $$ BEGIN                                                                                                          --@ postgres
    EXECUTE format('ALTER FUNCTION make_event_partitions SECURITY DEFINER SET search_path = %I, pg_temp', current_schema());   --@ postgres
    EXECUTE format('ALTER FUNCTION drop_event_partitions SECURITY DEFINER SET search_path = %I, pg_temp', current_schema());   --@ postgres
END $$;                                                                                                              --@ postgres
