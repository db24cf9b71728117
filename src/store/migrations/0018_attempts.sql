-- The hosts of workers, for as long as events name these workers: `workers` forgets a worker when it ends.
-- seen_at: when the row in `workers` was last created or removed. Retention deletes the row of a worker that ended before
-- the oldest execution that is kept was requested.
CREATE TABLE worker_hosts (
    worker bigint PRIMARY KEY,
    seen_at timestamptz NOT NULL,
    host TEXT NOT NULL
);                                                          --@ postgres
) STRICT;                                                   --@ sqlite
CREATE INDEX worker_hosts_seen ON worker_hosts (seen_at);
INSERT INTO worker_hosts SELECT id, seen_at, host FROM workers;

-- pawl_events gets a last column, host.
DROP VIEW pawl_events;                                      --@ sqlite
CREATE VIEW pawl_events AS                                  --@ sqlite
CREATE OR REPLACE VIEW pawl_events AS                       --@ postgres
SELECT v.sequence_num, v.root, v.execution, v.seq,
       CASE WHEN v.type > WORKFLOW_EVENT THEN 'workflow.' ELSE 'task.' END ||
       CASE v.type % WORKFLOW_EVENT WHEN EV_CREATED THEN 'created' WHEN EV_MARKED_READY THEN 'marked_ready' WHEN EV_HELD THEN 'held' WHEN EV_UNHELD THEN 'unheld'
            WHEN EV_CLAIMED THEN 'claimed' WHEN EV_STARTED THEN 'started' WHEN EV_DEFERRED THEN 'deferred' WHEN EV_RESUMED THEN 'resumed' WHEN EV_RELEASED THEN 'released'
            WHEN EV_RETRY_SCHEDULED THEN 'retry_scheduled' WHEN EV_LEASE_EXPIRED THEN 'lease_expired' WHEN EV_ADOPTED THEN 'adopted'
            WHEN EV_CANCEL_REQUESTED THEN 'cancel_requested' WHEN EV_COMPLETED THEN 'completed' WHEN EV_FAILED THEN 'failed' WHEN EV_TIMED_OUT THEN 'timed_out'
            WHEN EV_CANCELLED THEN 'cancelled' WHEN EV_SKIPPED THEN 'skipped' WHEN EV_ABANDONED THEN 'abandoned' WHEN EV_RERUN THEN 'rerun'
            WHEN EV_REUSED THEN 'reused' WHEN EV_PAUSED THEN 'paused' END AS type,
       CASE v.from_status WHEN S_PENDING THEN 'pending' WHEN S_READY THEN 'ready' WHEN S_RUNNING THEN 'running' WHEN S_SUCCEEDED THEN 'succeeded'
                          WHEN S_FAILED THEN 'failed' WHEN S_TIMED_OUT THEN 'timed_out' WHEN S_CANCELLED THEN 'cancelled' WHEN S_SKIPPED THEN 'skipped' END AS from_status,
       CASE v.to_status WHEN S_PENDING THEN 'pending' WHEN S_READY THEN 'ready' WHEN S_RUNNING THEN 'running' WHEN S_SUCCEEDED THEN 'succeeded'
                        WHEN S_FAILED THEN 'failed' WHEN S_TIMED_OUT THEN 'timed_out' WHEN S_CANCELLED THEN 'cancelled' WHEN S_SKIPPED THEN 'skipped' END AS to_status,
       v.attempt, v.epoch,
       lpad(to_hex(v.worker), 16, '0') AS worker, v.data::json AS data, v.created_at,                               --@ postgres
       CASE WHEN v.worker IS NOT NULL THEN printf('%016x', v.worker) END AS worker, v.data,                         --@ sqlite
       strftime('%Y-%m-%dT%H:%M:%S', v.created_at / 1000000, 'unixepoch') || printf('.%06dZ', v.created_at % 1000000)   --@ sqlite
           AS created_at,                                                                                           --@ sqlite
       (SELECT h.host FROM worker_hosts h WHERE h.worker = v.worker) AS host
  FROM execution_events v;

-- Counts of claims, adoptions, expired leases and outcomes (docs/adr/0058). Each write connection adds to its own rows, in
-- the transaction of the events. The counts of writers that are gone are merged into writer 0; those of workers that are
-- gone into worker 0, with the name of their host, which is empty before.
--   queue      here for all queues of foreground runs
--   executor   function for all functions
--   type       of the events that are counted; 0 for outcomes that were refused because the lease was lost
--   outcome    of the attempts that these events ended; 0 if they ended none
--   upto       the times of at most this many µs, and longer than the next smaller bound, are counted here: a claimed job
--              waited, an ended attempt ran. 0 if the time is unknown
--   n, us      how many there were, and the sum of their times
CREATE TABLE attempt_counters (
    writer bigint NOT NULL,
    worker bigint NOT NULL,
    queue TEXT NOT NULL,
    executor TEXT NOT NULL,
    host TEXT NOT NULL,
    type smallint NOT NULL,
    outcome smallint NOT NULL,
    upto bigint NOT NULL,
    n bigint NOT NULL,
    us bigint NOT NULL,
    PRIMARY KEY (writer, worker, queue, executor, host, type, outcome, upto)
) WITH (fillfactor = 50);                                   --@ postgres
) STRICT, WITHOUT ROWID;                                    --@ sqlite

-- Attempts that run now are counted as claimed, so that claims and outcomes differ by the number of running jobs. The counts
-- start with them: those of worker_counters lacked all that workers had counted when they were killed.
LOCK TABLE turns, leases IN ACCESS EXCLUSIVE MODE;          --@ postgres
INSERT INTO attempt_counters
SELECT 0, COALESCE(l.worker, 0), CASE WHEN e.queue LIKE 'here:%' THEN 'here' ELSE e.queue END,
       CASE WHEN e.lane LIKE 'function:%' THEN 'function' ELSE e.lane END, '', EV_CLAIMED, 0, 0, count(*), 0
  FROM leases l JOIN executions e ON e.id = l.execution
 GROUP BY 2, 3, 4;
DROP TABLE worker_counters;

-- Roles that were granted rights to `workers` get them for the new tables: their workers write both.
DO $$                                                                                                                --@ postgres
DECLARE                                                                                                              --@ postgres
    command text;                                                                                                    --@ postgres
BEGIN                                                                                                                --@ postgres
    FOR command IN                                                                                                   --@ postgres
        SELECT format('GRANT %s ON worker_hosts, attempt_counters TO %s', a.privilege_type,                          --@ postgres
                      CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END)        --@ postgres
          FROM pg_class c, aclexplode(c.relacl) a                                                                    --@ postgres
         WHERE c.oid = 'workers'::regclass AND a.grantee <> c.relowner                                               --@ postgres
    LOOP                                                                                                             --@ postgres
        EXECUTE command;                                                                                             --@ postgres
    END LOOP;                                                                                                        --@ postgres
END $$;                                                                                                              --@ postgres

-- How many jobs each executor of a worker may hold: JSON, {"process": 4}; null where it did not say.
ALTER TABLE workers ADD COLUMN executors TEXT;

-- A worker of an older version would not count its attempts: it must end (see 0013_counters.sql).
DROP TRIGGER turns_refuse_older_schema ON turns;                                                   --@ postgres
CREATE TRIGGER turns_refuse_older_schema BEFORE INSERT ON turns                                    --@ postgres
    FOR EACH ROW WHEN (NEW.schema_version IS NULL OR NEW.schema_version < 18)                      --@ postgres
    EXECUTE FUNCTION refuse_older_schema();                                                        --@ postgres
DROP TRIGGER turns_refuse_older_schema;                                                            --@ sqlite
CREATE TRIGGER turns_refuse_older_schema BEFORE INSERT ON turns                                    --@ sqlite
WHEN NEW.schema_version IS NULL OR NEW.schema_version < 18                                         --@ sqlite
BEGIN SELECT RAISE(ABORT, 'a newer pawl has upgraded the schema of this database: restart this process with the newer pawl'); END;   --@ sqlite
UPDATE settings SET value = '18' WHERE name = 'minimum_schema';
