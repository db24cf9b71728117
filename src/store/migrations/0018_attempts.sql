-- The hosts of workers, for as long as events name these workers: the row in `workers` is deleted when the worker ends.
-- seen_at says when the row in `workers` was last created or removed. Retention deletes the row of a worker that ended
-- before the oldest execution that is kept was requested.
CREATE TABLE worker_hosts (
    worker bigint PRIMARY KEY,
    seen_at timestamptz NOT NULL,
    host TEXT NOT NULL
);                                                          --@ postgres
) STRICT;                                                   --@ sqlite
CREATE INDEX worker_hosts_seen ON worker_hosts (seen_at);
INSERT INTO worker_hosts SELECT id, seen_at, host FROM workers;

-- Counts of claims, adoptions, expired leases and outcomes (docs/adr/0058). Each write connection adds to its own rows, in
-- the transaction of the events. The counts of writers that are gone are merged into writer 0; those of workers that are
-- gone into worker 0, with the name of their host; until then the host is empty.
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

-- Attempts that run now are counted as claimed, so that claims and outcomes differ by the number of running jobs. The
-- counts start with these attempts. They do not continue those of worker_counters, which lack what killed workers had
-- counted last.
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

-- How many jobs each executor of a worker may hold: JSON, {"process": 4}; NULL if the worker did not report it.
ALTER TABLE workers ADD COLUMN executors TEXT;
