-- A tenant's role owns nothing: the role that administers Pawl owns the schema and all that is in it (schema_owner.c).
-- Partitions of the history are made and dropped with its rights, by names that the caller can't set up.
REVOKE ALL ON FUNCTION make_event_partitions FROM PUBLIC;                                                            --@ postgres
REVOKE ALL ON FUNCTION drop_event_partitions FROM PUBLIC;                                                            --@ postgres
DO $$ BEGIN                                                                                                          --@ postgres
    EXECUTE format('ALTER FUNCTION make_event_partitions SECURITY DEFINER SET search_path = %I, pg_temp', current_schema());   --@ postgres
    EXECUTE format('ALTER FUNCTION drop_event_partitions SECURITY DEFINER SET search_path = %I, pg_temp', current_schema());   --@ postgres
END $$;                                                                                                              --@ postgres
