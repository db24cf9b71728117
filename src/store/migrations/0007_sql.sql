-- Submissions by SQL, from transactions of others, and views for people who read SQL.

-- What pawl_submit() wrote, of which an engine makes an execution. id is the one that this execution gets, out of the same
-- sequence. Taken: `execution` is set, to that id, or by the key to an earlier one. Refused: `error` says why. Neither: it
-- waits. definition: the hash that the workflow's name meant when it was submitted. delay: µs after requested_at.
-- On SQLite nobody writes it: there a program submits inside of a transaction of the library, at once.
CREATE TABLE submissions (
    id bigint PRIMARY KEY,
    requested_at timestamptz NOT NULL,
    decided_at timestamptz,
    execution bigint,
    delay bigint NOT NULL,
    priority INTEGER NOT NULL,
    workflow TEXT NOT NULL,
    definition TEXT NOT NULL,
    params TEXT NOT NULL,
    queue TEXT,
    key TEXT,
    requested_by TEXT,
    error TEXT
);                                                          --@ postgres
) STRICT;                                                   --@ sqlite
-- A key whose submission was refused may be used again.
CREATE UNIQUE INDEX submissions_key ON submissions (key) WHERE key IS NOT NULL AND error IS NULL;
CREATE INDEX submissions_waiting ON submissions (id) WHERE execution IS NULL AND error IS NULL;
CREATE INDEX submissions_refused ON submissions (decided_at) WHERE error IS NOT NULL;
CREATE INDEX submissions_execution ON submissions (execution) WHERE execution IS NOT NULL;

-- Raises an error for params that the workflow would not take: the rules of core/resolve.c, so that whoever submits hears
-- of it while he can still roll back. wanted: the params of the definition.
CREATE FUNCTION check_params(workflow text, wanted json, given json) RETURNS void LANGUAGE plpgsql AS $$            --@ postgres
DECLARE                                                                                                             --@ postgres
    p record;                                                                                                       --@ postgres
BEGIN                                                                                                               --@ postgres
    FOR p IN SELECT COALESCE(w.name, g.key) AS name, w.name IS NULL AS unknown, g.key IS NULL AS missing, w.needed, w.type,   --@ postgres
                    json_typeof(g.value) AS given, g.value::text AS text                                            --@ postgres
               FROM (SELECT j ->> 'name' AS name, COALESCE(j ->> 'type', 'string') AS type,                         --@ postgres
                            COALESCE(j ->> 'required', '') = 'true' AND j -> 'default' IS NULL AS needed            --@ postgres
                       FROM json_array_elements(COALESCE(wanted, '[]')) AS j) AS w                                  --@ postgres
               FULL JOIN json_each(given) AS g ON g.key = w.name LOOP                                               --@ postgres
        IF p.unknown THEN                                                                                           --@ postgres
            RAISE EXCEPTION 'the workflow % has no param %', workflow, left(p.name, 100)                            --@ postgres
                USING ERRCODE = 'invalid_parameter_value';                                                          --@ postgres
        ELSIF p.missing AND p.needed THEN                                                                           --@ postgres
            RAISE EXCEPTION 'the param % of the workflow % is missing: it must be a %', p.name, workflow, p.type    --@ postgres
                USING ERRCODE = 'invalid_parameter_value';                                                          --@ postgres
        ELSIF NOT p.missing AND NOT (CASE p.type WHEN 'integer' THEN p.text ~ '^-?[0-9]+$'                          --@ postgres
                                                 WHEN 'list' THEN p.given = 'array' ELSE p.given = p.type END) THEN --@ postgres
            RAISE EXCEPTION 'the param % of the workflow % must be a %, not %', p.name, workflow, p.type, p.given   --@ postgres
                USING ERRCODE = 'invalid_parameter_value';                                                          --@ postgres
        END IF;                                                                                                     --@ postgres
    END LOOP;                                                                                                       --@ postgres
END $$;                                                                                                             --@ postgres

-- Submits a workflow that was applied, as a part of the caller's transaction: what is rolled back was never submitted.
-- Returns the id that the execution will have, or by its key has. What can be seen to be wrong is an error at once; what an
-- engine finds later is kept in the row. One NOTIFY wakes the engines when the caller commits. Commits that notify wait for
-- each other, over the whole server: who writes a lot says notify => false, and is found by the poll.
CREATE FUNCTION pawl_submit(workflow text, params json DEFAULT '{}', key text DEFAULT NULL, queue text DEFAULT NULL,   --@ postgres
    priority integer DEFAULT 0, delay interval DEFAULT '0', notify boolean DEFAULT true)                            --@ postgres
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$                                                              --@ postgres
#variable_conflict use_column                                                                                       --@ postgres
DECLARE                                                                                                             --@ postgres
    given CONSTANT json := COALESCE(params, '{}');                                                                  --@ postgres
    us CONSTANT bigint := extract(epoch FROM COALESCE(delay, '0')) * 1000000;                                       --@ postgres
    hash text;                                                                                                      --@ postgres
    wanted json;                                                                                                    --@ postgres
    mine bigint;                                                                                                    --@ postgres
    other submissions%ROWTYPE;                                                                                      --@ postgres
BEGIN                                                                                                               --@ postgres
    SELECT n.hash, d.definition::json -> 'params' INTO hash, wanted                                                 --@ postgres
      FROM workflow_names n JOIN workflow_definitions d ON d.hash = n.hash WHERE n.name = pawl_submit.workflow;     --@ postgres
    IF NOT FOUND THEN                                                                                               --@ postgres
        RAISE EXCEPTION 'no workflow is applied under the name %', COALESCE(quote_literal(left(workflow, 100)), 'NULL')   --@ postgres
            USING ERRCODE = 'undefined_object', HINT = '`pawl apply FILE` makes one known by its name.';            --@ postgres
    ELSIF json_typeof(given) <> 'object' THEN                                                                       --@ postgres
        RAISE EXCEPTION 'the params of a workflow must be a JSON object' USING ERRCODE = 'invalid_parameter_value'; --@ postgres
    ELSIF octet_length(given::text) > 1048576 THEN                                                                  --@ postgres
        RAISE EXCEPTION 'the params have % bytes; at most 1048576 are taken', octet_length(given::text)             --@ postgres
            USING ERRCODE = 'invalid_parameter_value';                                                              --@ postgres
    ELSIF key = '' OR octet_length(key) > 200 THEN                                                                  --@ postgres
        RAISE EXCEPTION 'the key is empty, or has more than 200 bytes' USING ERRCODE = 'invalid_parameter_value';   --@ postgres
    ELSIF queue = '' OR octet_length(queue) > 64 OR queue LIKE 'here:%' THEN                                        --@ postgres
        RAISE EXCEPTION 'the queue is empty, has more than 64 bytes, or begins with here:'                          --@ postgres
            USING ERRCODE = 'invalid_parameter_value';                                                              --@ postgres
    ELSIF priority NOT BETWEEN -1000000 AND 1000000 OR us NOT BETWEEN 0 AND 100 * 365 * 86400000000 THEN            --@ postgres
        RAISE EXCEPTION 'the priority or the delay is out of its range' USING ERRCODE = 'invalid_parameter_value';  --@ postgres
    END IF;                                                                                                         --@ postgres
    PERFORM check_params(workflow, wanted, given);                                                                  --@ postgres
    LOOP                                                                                                            --@ postgres
        INSERT INTO submissions AS s (id, requested_at, delay, priority, workflow, definition, params, queue, key,  --@ postgres
                                      requested_by)                                                                 --@ postgres
        VALUES (nextval('execution_id'), clock_timestamp(), us, COALESCE(priority, 0), workflow, hash, given::text, --@ postgres
                queue, key, session_user)                                                                           --@ postgres
        ON CONFLICT (key) WHERE key IS NOT NULL AND error IS NULL DO NOTHING RETURNING s.id INTO mine;              --@ postgres
        EXIT WHEN mine IS NOT NULL;                                                                                 --@ postgres
        SELECT * INTO other FROM submissions s WHERE s.key = pawl_submit.key AND s.error IS NULL;                   --@ postgres
        CONTINUE WHEN NOT FOUND; -- it was refused, or removed, at this moment                                      --@ postgres
        IF (other.workflow, other.delay, other.priority) IS DISTINCT FROM (workflow, us, COALESCE(priority, 0))     --@ postgres
           OR other.queue IS DISTINCT FROM queue                                                                    --@ postgres
           OR (CASE WHEN other.params = given::text THEN false ELSE other.params::jsonb <> given::jsonb END) THEN   --@ postgres
            RAISE EXCEPTION 'the key % was used for execution % with other contents', quote_literal(key),           --@ postgres
                  COALESCE(other.execution, other.id)                                                               --@ postgres
                USING ERRCODE = 'unique_violation', HINT = 'Use another key, or submit the same again.';            --@ postgres
        END IF;                                                                                                     --@ postgres
        RETURN COALESCE(other.execution, other.id);                                                                 --@ postgres
    END LOOP;                                                                                                       --@ postgres
    IF COALESCE(notify, true) THEN                                                                                  --@ postgres
        PERFORM pg_notify(current_schema(), '');                                                                    --@ postgres
    END IF;                                                                                                         --@ postgres
    RETURN mine;                                                                                                    --@ postgres
END $$;                                                                                                             --@ postgres
-- It runs with its owner's rights: for nobody without a grant, and never by names that the caller could set up.
REVOKE ALL ON FUNCTION pawl_submit FROM PUBLIC;                                                                     --@ postgres
DO $$ BEGIN                                                                                                         --@ postgres
    EXECUTE format('ALTER FUNCTION pawl_submit SET search_path = %I, pg_temp', current_schema());                   --@ postgres
END $$;                                                                                                             --@ postgres

-- The views: words instead of codes, times that people read, and columns that stay what they are (docs/SCHEMA.md).
CREATE VIEW pawl_executions AS
SELECT e.id, e.parent, e.root, e.workflow, e.depth,
       CASE e.kind WHEN KIND_TASK THEN 'task' WHEN KIND_EXEC THEN 'exec' WHEN KIND_WORKFLOW THEN 'workflow' WHEN KIND_FOREACH THEN 'foreach' END AS kind,
       e.name, e.task_name, e.task_index,
       CASE e.status WHEN S_PENDING THEN 'pending' WHEN S_READY THEN 'ready' WHEN S_RUNNING THEN 'running' WHEN S_SUCCEEDED THEN 'succeeded'
                     WHEN S_FAILED THEN 'failed' WHEN S_TIMED_OUT THEN 'timed_out' WHEN S_CANCELLED THEN 'cancelled' WHEN S_SKIPPED THEN 'skipped' END AS status,
       CASE e.held WHEN HELD_APPROVAL THEN 'approval' WHEN HELD_PAUSED THEN 'paused' WHEN HELD_DELAY THEN 'delay'
                   WHEN HELD_LIMIT THEN 'limit:' || e.held_key END AS held,
       e.queue, e.lane, e.priority, e.attempts AS attempt, e.max_attempts, e.epoch,
       lpad(to_hex(l.worker), 16, '0') AS worker, l.until AS lease_until,                                           --@ postgres
       (SELECT min(t.due_at) FROM timers t WHERE t.execution = e.id AND t.kind = TIMER_DELAY) AS due_at,            --@ postgres
       e.requested_at, e.started_at, e.finished_at,                                                                 --@ postgres
       e.input::json AS input, e.spec::json AS spec, e.result::json AS result,                                      --@ postgres
       CASE WHEN l.worker IS NOT NULL THEN printf('%016x', l.worker) END AS worker,                                 --@ sqlite
       strftime('%Y-%m-%dT%H:%M:%S', l.until / 1000000, 'unixepoch') || printf('.%06dZ', l.until % 1000000)         --@ sqlite
           AS lease_until,                                                                                          --@ sqlite
       (SELECT strftime('%Y-%m-%dT%H:%M:%S', t.due_at / 1000000, 'unixepoch') || printf('.%06dZ', t.due_at % 1000000)   --@ sqlite
          FROM timers t WHERE t.execution = e.id AND t.kind = TIMER_DELAY) AS due_at,                               --@ sqlite
       strftime('%Y-%m-%dT%H:%M:%S', e.requested_at / 1000000, 'unixepoch') || printf('.%06dZ', e.requested_at % 1000000)   --@ sqlite
           AS requested_at,                                                                                         --@ sqlite
       strftime('%Y-%m-%dT%H:%M:%S', e.started_at / 1000000, 'unixepoch') || printf('.%06dZ', e.started_at % 1000000)   --@ sqlite
           AS started_at,                                                                                           --@ sqlite
       strftime('%Y-%m-%dT%H:%M:%S', e.finished_at / 1000000, 'unixepoch') || printf('.%06dZ', e.finished_at % 1000000)   --@ sqlite
           AS finished_at,                                                                                          --@ sqlite
       e.input, e.spec, e.result,                                                                                   --@ sqlite
       e.error, e.rerun_of
  FROM executions e LEFT JOIN leases l ON l.execution = e.id;

-- What workers run: the same without what only the others have.
CREATE VIEW pawl_jobs AS
SELECT id, root, name, status, held, queue, lane, priority, attempt, max_attempts, epoch, worker, lease_until, due_at,
       requested_at, started_at, finished_at, input, spec, result, error
  FROM pawl_executions WHERE kind IN ('task', 'exec');

CREATE VIEW pawl_events AS
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
       lpad(to_hex(v.worker), 16, '0') AS worker, v.data::json AS data, v.created_at                                --@ postgres
       CASE WHEN v.worker IS NOT NULL THEN printf('%016x', v.worker) END AS worker, v.data,                         --@ sqlite
       strftime('%Y-%m-%dT%H:%M:%S', v.created_at / 1000000, 'unixepoch') || printf('.%06dZ', v.created_at % 1000000)   --@ sqlite
           AS created_at                                                                                            --@ sqlite
  FROM execution_events v;

-- A row for each queue, by sums of counters: nothing is counted.
CREATE VIEW pawl_queue AS
WITH names(queue) AS (
    SELECT queue FROM queue_counters
    UNION
    SELECT substr(key, 7) FROM limits WHERE key LIKE 'queue:%'
)
SELECT n.queue,
       CAST((SELECT COALESCE(sum(c.ready), 0) FROM queue_counters c WHERE c.queue = n.queue) AS bigint) AS ready,
       CAST((SELECT COALESCE(sum(c.held), 0) FROM queue_counters c WHERE c.queue = n.queue) AS bigint) AS held,
       CAST((SELECT COALESCE(sum(c.running), 0) FROM queue_counters c WHERE c.queue = n.queue) AS bigint) AS running,
       (SELECT o.ready_at FROM task_outbox o WHERE o.queue = n.queue AND o.ready_at > '1970-01-01Z'                 --@ postgres
         ORDER BY o.ready_at LIMIT 1) AS oldest_ready_at,                                                           --@ postgres
       l.max, l.used, l.paused_at,                                                                                  --@ postgres
       (SELECT strftime('%Y-%m-%dT%H:%M:%S', o.ready_at / 1000000, 'unixepoch') || printf('.%06dZ', o.ready_at % 1000000)   --@ sqlite
          FROM task_outbox o WHERE o.queue = n.queue AND o.ready_at > 0 ORDER BY o.ready_at LIMIT 1) AS oldest_ready_at,   --@ sqlite
       l.max, l.used,                                                                                               --@ sqlite
       strftime('%Y-%m-%dT%H:%M:%S', l.paused_at / 1000000, 'unixepoch') || printf('.%06dZ', l.paused_at % 1000000) --@ sqlite
           AS paused_at,                                                                                            --@ sqlite
       l.paused_by, l.pause_reason
  FROM names n LEFT JOIN limits l ON l.key = 'queue:' || n.queue;

CREATE VIEW pawl_submissions AS
SELECT s.id, s.workflow,
       CASE WHEN s.error IS NOT NULL THEN 'refused' WHEN s.execution IS NOT NULL THEN 'taken' ELSE 'waiting' END AS status,
       s.execution, s.error, s.key, s.queue, s.priority, s.requested_by,
       s.delay * interval '1 microsecond' AS delay, s.params::json AS params, s.requested_at, s.decided_at          --@ postgres
       s.delay, s.params,                                                                                           --@ sqlite
       strftime('%Y-%m-%dT%H:%M:%S', s.requested_at / 1000000, 'unixepoch') || printf('.%06dZ', s.requested_at % 1000000)   --@ sqlite
           AS requested_at,                                                                                         --@ sqlite
       strftime('%Y-%m-%dT%H:%M:%S', s.decided_at / 1000000, 'unixepoch') || printf('.%06dZ', s.decided_at % 1000000)   --@ sqlite
           AS decided_at                                                                                            --@ sqlite
  FROM submissions s;
