-- While somebody waits for a lock on the whole table of events, all who write events wait behind him. So retention waits
-- for a moment only: a backup or a report that reads the history is left in peace, and the partition goes another day.
-- That it is not needed is looked at again under the lock, as nobody can add to it then: a submission by SQL may have an
-- id that was drawn long ago, and become an execution in an old partition.
CREATE FUNCTION event_partition_is_needed(part regclass, lo bigint, hi bigint) RETURNS boolean LANGUAGE plpgsql AS $$  --@ postgres
DECLARE                                                                                --@ postgres
    found_one boolean;                                                                 --@ postgres
BEGIN                                                                                  --@ postgres
    PERFORM 1 FROM executions WHERE id >= lo AND id < hi AND parent IS NULL LIMIT 1;   --@ postgres
    IF FOUND THEN RETURN true; END IF;                                                 --@ postgres
    PERFORM 1 FROM submissions                                                         --@ postgres
      WHERE id >= lo AND id < hi AND execution IS NULL AND error IS NULL LIMIT 1;      --@ postgres
    IF FOUND THEN RETURN true; END IF;                                                 --@ postgres
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %s)', part) INTO found_one;           --@ postgres
    RETURN found_one;                                                                  --@ postgres
END $$;                                                                                --@ postgres

-- Drops partitions that lie wholly before `horizon` and that nothing needs; returns how many.
CREATE OR REPLACE FUNCTION drop_event_partitions(horizon bigint) RETURNS bigint LANGUAGE plpgsql   --@ postgres
SET lock_timeout = '200ms' AS $$                                                       --@ postgres
DECLARE                                                                                --@ postgres
    span CONSTANT bigint := 1000000;                                                   --@ postgres
    part regclass;                                                                     --@ postgres
    lo bigint;                                                                         --@ postgres
    n bigint := 0;                                                                     --@ postgres
BEGIN                                                                                  --@ postgres
    FOR part IN SELECT inhrelid::regclass FROM pg_inherits                             --@ postgres
                 WHERE inhparent = 'execution_events'::regclass LOOP                   --@ postgres
        lo := substring(part::text FROM '([0-9]+)"?$')::bigint * span;                 --@ postgres
        CONTINUE WHEN lo + span > horizon OR event_partition_is_needed(part, lo, lo + span);   --@ postgres
        BEGIN                                                                          --@ postgres
            LOCK TABLE ONLY execution_events IN ACCESS EXCLUSIVE MODE;                 --@ postgres
            CONTINUE WHEN event_partition_is_needed(part, lo, lo + span);              --@ postgres
            EXECUTE format('DROP TABLE %s', part);                                     --@ postgres
            n := n + 1;                                                                --@ postgres
        EXCEPTION WHEN lock_not_available THEN                                         --@ postgres
            RETURN n;                                                                  --@ postgres
        END;                                                                           --@ postgres
    END LOOP;                                                                          --@ postgres
    RETURN n;                                                                          --@ postgres
END $$;                                                                                --@ postgres
