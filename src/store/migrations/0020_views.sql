-- The documented views find their rows by an index: see docs/adr/0060-serve-the-views-by-index.md.

-- Tasks by their workflow; a single job has none, and costs nothing.
CREATE INDEX executions_workflow ON executions (workflow) WHERE workflow IS NOT NULL;

-- Failed tasks by time, on SQLite. (PostgreSQL reads the events of the time by the BRIN index on created_at.) The condition and
-- the column are the very expressions of the view pawl_events, because a planner uses an index only for these.
CREATE INDEX execution_events_failed_tasks ON execution_events (                                                        --@ sqlite
    (strftime('%Y-%m-%dT%H:%M:%S', created_at / 1000000, 'unixepoch') || printf('.%06dZ', created_at % 1000000))        --@ sqlite
) WHERE (                                                                                                               --@ sqlite
    (CASE WHEN type > WORKFLOW_EVENT THEN 'workflow.' ELSE 'task.' END ||                                               --@ sqlite
    CASE type % WORKFLOW_EVENT WHEN EV_CREATED THEN 'created' WHEN EV_MARKED_READY THEN 'marked_ready' WHEN EV_HELD THEN 'held' WHEN EV_UNHELD THEN 'unheld'  --@ sqlite
    WHEN EV_CLAIMED THEN 'claimed' WHEN EV_STARTED THEN 'started' WHEN EV_DEFERRED THEN 'deferred' WHEN EV_RESUMED THEN 'resumed' WHEN EV_RELEASED THEN 'released'  --@ sqlite
    WHEN EV_RETRY_SCHEDULED THEN 'retry_scheduled' WHEN EV_LEASE_EXPIRED THEN 'lease_expired' WHEN EV_ADOPTED THEN 'adopted'  --@ sqlite
    WHEN EV_CANCEL_REQUESTED THEN 'cancel_requested' WHEN EV_COMPLETED THEN 'completed' WHEN EV_FAILED THEN 'failed' WHEN EV_TIMED_OUT THEN 'timed_out'  --@ sqlite
    WHEN EV_CANCELLED THEN 'cancelled' WHEN EV_SKIPPED THEN 'skipped' WHEN EV_ABANDONED THEN 'abandoned' WHEN EV_RERUN THEN 'rerun'  --@ sqlite
    WHEN EV_REUSED THEN 'reused' WHEN EV_PAUSED THEN 'paused' END)                                                      --@ sqlite
    COLLATE BINARY                                                                                                      --@ sqlite
) = 'task.failed';                                                                                                      --@ sqlite

-- pawl_events gets a last column, host. An event is found by its execution alone: the join adds the root, the first column of the index of the history.
CREATE OR REPLACE VIEW pawl_events AS                                                              --@ postgres
DROP VIEW pawl_events;                                                                             --@ sqlite
CREATE VIEW pawl_events AS                                                                         --@ sqlite
SELECT v.sequence_num, v.root, e.id AS execution, v.seq,
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
  FROM execution_events v JOIN executions e ON e.id = v.execution AND e.root = v.root;
