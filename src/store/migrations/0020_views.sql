-- The documented views find their rows by an index: see docs/adr/0060-serve-the-views-by-index.md.

-- Tasks by their workflow. A job outside of a workflow is not in this index and costs nothing.
CREATE INDEX executions_workflow ON executions (workflow) WHERE workflow IS NOT NULL;

-- Failed tasks by time. The condition and, on SQLite, the column repeat the expressions of the view pawl_events exactly,
-- because a planner uses the index only for these. The condition is evaluated for every event that is written, so it tests
-- the most frequent events first.
CREATE INDEX execution_events_failed_tasks ON execution_events (
    created_at                                                                                                          --@ postgres
    (strftime('%Y-%m-%dT%H:%M:%S', created_at / 1000000, 'unixepoch') || printf('.%06dZ', created_at % 1000000))        --@ sqlite
) WHERE (
    (CASE type
            WHEN EV_CREATED THEN 'task.created' WHEN EV_MARKED_READY THEN 'task.marked_ready'
            WHEN EV_CLAIMED THEN 'task.claimed' WHEN EV_STARTED THEN 'task.started' WHEN EV_COMPLETED THEN 'task.completed'
            WHEN EV_HELD THEN 'task.held' WHEN EV_UNHELD THEN 'task.unheld' WHEN EV_DEFERRED THEN 'task.deferred'
            WHEN EV_RESUMED THEN 'task.resumed' WHEN EV_RELEASED THEN 'task.released'
            WHEN EV_RETRY_SCHEDULED THEN 'task.retry_scheduled' WHEN EV_LEASE_EXPIRED THEN 'task.lease_expired'
            WHEN EV_ADOPTED THEN 'task.adopted' WHEN EV_CANCEL_REQUESTED THEN 'task.cancel_requested'
            WHEN EV_FAILED THEN 'task.failed' WHEN EV_TIMED_OUT THEN 'task.timed_out'
            WHEN EV_CANCELLED THEN 'task.cancelled' WHEN EV_SKIPPED THEN 'task.skipped'
            WHEN EV_ABANDONED THEN 'task.abandoned' WHEN EV_RERUN THEN 'task.rerun' WHEN EV_REUSED THEN 'task.reused'
            WHEN WORKFLOW_EV_CREATED THEN 'workflow.created' WHEN WORKFLOW_EV_STARTED THEN 'workflow.started'
            WHEN WORKFLOW_EV_COMPLETED THEN 'workflow.completed' WHEN WORKFLOW_EV_HELD THEN 'workflow.held'
            WHEN WORKFLOW_EV_UNHELD THEN 'workflow.unheld' WHEN WORKFLOW_EV_PAUSED THEN 'workflow.paused'
            WHEN WORKFLOW_EV_RESUMED THEN 'workflow.resumed'
            WHEN WORKFLOW_EV_CANCEL_REQUESTED THEN 'workflow.cancel_requested'
            WHEN WORKFLOW_EV_FAILED THEN 'workflow.failed' WHEN WORKFLOW_EV_TIMED_OUT THEN 'workflow.timed_out'
            WHEN WORKFLOW_EV_CANCELLED THEN 'workflow.cancelled' WHEN WORKFLOW_EV_SKIPPED THEN 'workflow.skipped'
            WHEN WORKFLOW_EV_RERUN THEN 'workflow.rerun' WHEN WORKFLOW_EV_REUSED THEN 'workflow.reused'
            WHEN WORKFLOW_EV_MARKED_READY THEN 'workflow.marked_ready' WHEN WORKFLOW_EV_CLAIMED THEN 'workflow.claimed'
            WHEN WORKFLOW_EV_DEFERRED THEN 'workflow.deferred' WHEN WORKFLOW_EV_RELEASED THEN 'workflow.released'
            WHEN WORKFLOW_EV_RETRY_SCHEDULED THEN 'workflow.retry_scheduled'
            WHEN WORKFLOW_EV_LEASE_EXPIRED THEN 'workflow.lease_expired' WHEN WORKFLOW_EV_ADOPTED THEN 'workflow.adopted'
            WHEN WORKFLOW_EV_ABANDONED THEN 'workflow.abandoned' WHEN EV_PAUSED THEN 'task.paused' END)
    COLLATE BINARY                                                                                                      --@ sqlite
) = 'task.failed';

-- pawl_events gets a last column, host. A query finds events by their execution alone: the join adds the root, the
-- first column of the history's index.
CREATE OR REPLACE VIEW pawl_events AS                                                              --@ postgres
DROP VIEW pawl_events;                                                                             --@ sqlite
CREATE VIEW pawl_events AS                                                                         --@ sqlite
SELECT v.sequence_num, v.root, e.id AS execution, v.seq,
       CASE v.type
            WHEN EV_CREATED THEN 'task.created' WHEN EV_MARKED_READY THEN 'task.marked_ready'
            WHEN EV_CLAIMED THEN 'task.claimed' WHEN EV_STARTED THEN 'task.started' WHEN EV_COMPLETED THEN 'task.completed'
            WHEN EV_HELD THEN 'task.held' WHEN EV_UNHELD THEN 'task.unheld' WHEN EV_DEFERRED THEN 'task.deferred'
            WHEN EV_RESUMED THEN 'task.resumed' WHEN EV_RELEASED THEN 'task.released'
            WHEN EV_RETRY_SCHEDULED THEN 'task.retry_scheduled' WHEN EV_LEASE_EXPIRED THEN 'task.lease_expired'
            WHEN EV_ADOPTED THEN 'task.adopted' WHEN EV_CANCEL_REQUESTED THEN 'task.cancel_requested'
            WHEN EV_FAILED THEN 'task.failed' WHEN EV_TIMED_OUT THEN 'task.timed_out'
            WHEN EV_CANCELLED THEN 'task.cancelled' WHEN EV_SKIPPED THEN 'task.skipped'
            WHEN EV_ABANDONED THEN 'task.abandoned' WHEN EV_RERUN THEN 'task.rerun' WHEN EV_REUSED THEN 'task.reused'
            WHEN WORKFLOW_EV_CREATED THEN 'workflow.created' WHEN WORKFLOW_EV_STARTED THEN 'workflow.started'
            WHEN WORKFLOW_EV_COMPLETED THEN 'workflow.completed' WHEN WORKFLOW_EV_HELD THEN 'workflow.held'
            WHEN WORKFLOW_EV_UNHELD THEN 'workflow.unheld' WHEN WORKFLOW_EV_PAUSED THEN 'workflow.paused'
            WHEN WORKFLOW_EV_RESUMED THEN 'workflow.resumed'
            WHEN WORKFLOW_EV_CANCEL_REQUESTED THEN 'workflow.cancel_requested'
            WHEN WORKFLOW_EV_FAILED THEN 'workflow.failed' WHEN WORKFLOW_EV_TIMED_OUT THEN 'workflow.timed_out'
            WHEN WORKFLOW_EV_CANCELLED THEN 'workflow.cancelled' WHEN WORKFLOW_EV_SKIPPED THEN 'workflow.skipped'
            WHEN WORKFLOW_EV_RERUN THEN 'workflow.rerun' WHEN WORKFLOW_EV_REUSED THEN 'workflow.reused'
            WHEN WORKFLOW_EV_MARKED_READY THEN 'workflow.marked_ready' WHEN WORKFLOW_EV_CLAIMED THEN 'workflow.claimed'
            WHEN WORKFLOW_EV_DEFERRED THEN 'workflow.deferred' WHEN WORKFLOW_EV_RELEASED THEN 'workflow.released'
            WHEN WORKFLOW_EV_RETRY_SCHEDULED THEN 'workflow.retry_scheduled'
            WHEN WORKFLOW_EV_LEASE_EXPIRED THEN 'workflow.lease_expired' WHEN WORKFLOW_EV_ADOPTED THEN 'workflow.adopted'
            WHEN WORKFLOW_EV_ABANDONED THEN 'workflow.abandoned' WHEN EV_PAUSED THEN 'task.paused' END AS type,
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
