-- The statements of readers (query/*.c). Each uses an index, and none takes a lock.

--= event v.sequence_num, v.root, v.execution, v.created_at, v.worker, v.seq, v.attempt, v.epoch,
--=+      v.type, v.from_status, v.to_status, v.data,
--=+      (SELECT h.host FROM worker_hosts h WHERE h.worker = v.worker)

-- The outcome of the last attempt, the last worker and its host, the request, the end of a delay; for a workflow its
-- definition, its variables, and who paused it and why. Each is one index probe. (The delay needs no ORDER BY, since a
-- job has at most one; with it, PostgreSQL would search all timers.)
--= last_worker (SELECT v.worker FROM execution_events v WHERE v.root = e.root AND v.execution = e.id
--=+              AND v.worker IS NOT NULL ORDER BY v.seq DESC LIMIT 1)
--= past (SELECT v.data FROM execution_events v WHERE v.root = e.root AND v.execution = e.id
--=+       AND v.type IN (EV_RETRY_SCHEDULED, EV_COMPLETED, EV_FAILED, EV_TIMED_OUT, EV_CANCELLED, EV_ABANDONED,
--=+                      WORKFLOW_EV_COMPLETED, WORKFLOW_EV_FAILED, WORKFLOW_EV_TIMED_OUT, WORKFLOW_EV_CANCELLED)
--=+     ORDER BY v.seq DESC LIMIT 1),
--=+     @last_worker@,
--=+     (SELECT h.host FROM worker_hosts h WHERE h.worker = @last_worker@),
--=+     (SELECT v.data FROM execution_events v WHERE v.root = e.root AND v.execution = e.id AND v.seq = 1),
--=+     (SELECT t.due_at FROM timers t WHERE t.execution = e.id AND t.kind + 0 = TIMER_DELAY LIMIT 1),
--=+     (SELECT f.definition FROM workflow_executions f WHERE e.kind = KIND_WORKFLOW AND f.execution = e.id),
--=+     (SELECT f.variables FROM workflow_executions f WHERE e.kind = KIND_WORKFLOW AND f.execution = e.id),
--=+     (SELECT v.data FROM execution_events v WHERE e.kind = KIND_WORKFLOW AND (e.flags & FLAG_PAUSED) <> 0
--=+       AND v.root = e.root AND v.execution = e.id AND v.type = WORKFLOW_EV_PAUSED ORDER BY v.seq DESC LIMIT 1)

-- ---- executions

-- Like query_tree and query_outline, this also finds a SQL submission that waits for a worker to take it.
--: query_execution(id i64)
SELECT @whole@, @past@
  FROM executions e LEFT JOIN leases l ON l.execution = e.id
 WHERE e.id = $1
UNION ALL
SELECT @submitted@ FROM submissions s WHERE s.id = $1 AND @waits@

--: query_parent(id i64)
SELECT @whole@, @past@
  FROM executions c JOIN executions e ON e.id = c.parent LEFT JOIN leases l ON l.execution = e.id
 WHERE c.id = $1

-- The workflow that the execution belongs to.
--: query_workflow(id i64)
SELECT @whole@, @past@
  FROM executions c JOIN executions e ON e.id = c.workflow LEFT JOIN leases l ON l.execution = e.id
 WHERE c.id = $1

--: query_children(id i64)
SELECT @whole@, @past@
  FROM executions e LEFT JOIN leases l ON l.execution = e.id
 WHERE e.parent = $1
 ORDER BY e.requested_at, e.id

--: query_tree(top i64)
WITH RECURSIVE tree(id) AS (
    SELECT id FROM executions WHERE id = $1
    UNION ALL
    SELECT c.id FROM tree t @children_of_t@
)
SELECT @whole@, @past@
  FROM tree t JOIN executions e ON e.id = t.id LEFT JOIN leases l ON l.execution = e.id
UNION ALL
SELECT @submitted@ FROM submissions s WHERE s.id = $1 AND @waits@
 ORDER BY depth, requested_at, id

-- The number of executions in a tree, counted up to `most`.
--: query_tree_size(top i64, most i64)
WITH RECURSIVE tree(id) AS (
    SELECT id FROM executions WHERE id = $1
    UNION ALL
    SELECT c.id FROM tree t @children_of_t@
)
SELECT count(*) FROM (SELECT t.id FROM tree t LIMIT $2) AS counted

-- The children of a workflow and the items of its fan-outs.
--: query_tasks(workflow i64)
WITH RECURSIVE nodes(id, kind) AS (
    SELECT id, kind FROM executions WHERE parent = $1
    UNION ALL
    SELECT c.id, c.kind FROM nodes t @children_of_t@
     WHERE t.kind = KIND_FOREACH
)
SELECT @whole@, @past@
  FROM nodes n JOIN executions e ON e.id = n.id LEFT JOIN leases l ON l.execution = e.id
 ORDER BY e.depth, e.requested_at, e.id

--: query_definition(workflow i64)
SELECT d.hash, d.definition, d.source FROM workflow_executions f JOIN workflow_definitions d ON d.hash = f.definition WHERE f.execution = $1

-- The names of the started children of workflows; a fan-out counts once, without its items.
--: query_task_names(; workflow i64)
SELECT e.parent, COALESCE(e.task_name, e.name), e.status
  FROM @rows@ AS u CROSS JOIN LATERAL (SELECT x.* FROM executions x WHERE x.parent = u.workflow OFFSET 0) e   --@ postgres
 WHERE e.status > S_PENDING                                                                --@ postgres
  FROM executions e WHERE e.parent = $1 AND e.status > S_PENDING                           --@ sqlite
 ORDER BY e.parent, e.id

-- ---- events

-- All statements that use these pieces number their parameters in the same way: $1 the start time (inclusive), $2 the
-- end time (exclusive), $3 a sequence_num, $4 event types as a set of bits (0: all).
--= of_types ($4 = 0 OR ((CAST(1 AS bigint) << v.type) & $4) <> 0)

--: query_events_of(execution i64, after_seq i32, n i64)
SELECT @event@
  FROM execution_events v
 WHERE v.root = (SELECT e.root FROM executions e WHERE e.id = $1) AND v.execution = $1 AND v.seq > $2
 ORDER BY v.seq LIMIT $3

-- Uses the index on (root, execution) and no other: the + keeps SQLite from reading all events after $3, and IN instead
-- of a join keeps it from building a Bloom filter of all events; OFFSET 0 keeps PostgreSQL from reading all events of
-- the time window for each execution.
--: query_events_below(since time, until time, after i64, types i64, execution i64, upto i64, n i64)
WITH RECURSIVE tree(id, root) AS (
    SELECT id, root FROM executions WHERE id = $5
    UNION ALL
    SELECT c.id, c.root FROM tree t @children_of_t@
)
SELECT @event@
  FROM execution_events v                                                                  --@ sqlite
 WHERE v.root = (SELECT root FROM executions WHERE id = $5) AND v.execution IN (SELECT id FROM tree)   --@ sqlite
   AND +v.sequence_num > $3 AND +v.sequence_num <= $6                                      --@ sqlite
   AND +v.created_at >= $1 AND +v.created_at < $2 AND @of_types@                           --@ sqlite
  FROM tree t                                                                              --@ postgres
 CROSS JOIN LATERAL (SELECT x.* FROM execution_events x                                    --@ postgres
                      WHERE x.root = t.root AND x.execution = t.id OFFSET 0) v             --@ postgres
 WHERE v.sequence_num > $3 AND v.sequence_num <= $6                                        --@ postgres
   AND v.created_at >= $1 AND v.created_at < $2 AND @of_types@                             --@ postgres
 ORDER BY v.sequence_num LIMIT $7

-- Events in a time window: from $1 on and before the pair ($2, $3) of time and number. PostgreSQL uses the BRIN index
-- on the time. On SQLite the number is the rowid and times never decrease with it, so a binary search turns a time into
-- a number: `seek` finds both ends, and lo is the first number that is not before the target.
--= in_window v.created_at >= $1 AND v.created_at <= $2 AND (v.created_at < $2 OR v.sequence_num < $3)
--= probed (SELECT p.created_at FROM execution_events p WHERE p.sequence_num >= (lo + hi) / 2
--=+        ORDER BY p.sequence_num LIMIT 1)
--= seek WITH RECURSIVE bounds(least, most) AS (
--=+        SELECT (SELECT min(sequence_num) FROM execution_events), (SELECT max(sequence_num) FROM execution_events)
--=+     ), seek(target, lo, hi) AS MATERIALIZED (
--=+        SELECT $1, least, most + 1 FROM bounds UNION ALL SELECT $2, least, most + 1 FROM bounds
--=+        UNION ALL
--=+        SELECT target, CASE WHEN @probed@ < target THEN (lo + hi) / 2 + 1 ELSE lo END,
--=+               CASE WHEN @probed@ < target THEN hi ELSE (lo + hi) / 2 END
--=+          FROM seek WHERE lo < hi)
--= by_number v.sequence_num >= (SELECT lo FROM seek WHERE lo = hi AND target = $1)
--=+          AND v.sequence_num < CASE WHEN $3 > 0 THEN $3 ELSE (SELECT lo FROM seek WHERE lo = hi AND target = $2) END

--: query_events_count(since time, before time, before_sequence i64, n i64)
@seek@                                                                                     --@ sqlite
SELECT count(*) FROM (
    SELECT 1 FROM execution_events v
     WHERE @in_window@                                                                     --@ postgres
     WHERE @by_number@                                                                     --@ sqlite
     LIMIT $4) w

--: query_events_window(since time, before time, before_sequence i64, types i64, n i64)
@seek@                                                                                     --@ sqlite
SELECT @event@
  FROM execution_events v
 WHERE @in_window@                                                                         --@ postgres
   AND @of_types@                                                                          --@ postgres
 ORDER BY v.created_at DESC, v.sequence_num DESC LIMIT $5                                  --@ postgres
 WHERE @by_number@                                                                         --@ sqlite
   AND @of_types@                                                                          --@ sqlite
 ORDER BY v.sequence_num DESC LIMIT $5                                                     --@ sqlite

-- Only events of the types in the partial index; the condition repeats the predicate of that index literally.
--: query_events_failures(since time, before time, before_sequence i64, types i64, n i64)
SELECT @event@
  FROM execution_events v
 WHERE (v.type = EV_RETRY_SCHEDULED OR v.type = EV_FAILED OR v.type = EV_TIMED_OUT OR v.type = EV_ABANDONED
        OR v.type = WORKFLOW_EV_FAILED OR v.type = WORKFLOW_EV_TIMED_OUT)
   AND @in_window@ AND @of_types@
 ORDER BY v.created_at DESC, v.sequence_num DESC LIMIT $5

-- ---- following (docs/adr/0022)

--: query_horizon()
SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM event_sequence                  --@ postgres
SELECT COALESCE(max(sequence_num), 0) FROM execution_events                                --@ sqlite

-- Transactions that may still commit events with numbers taken before now; only those listed in $1 if it is not NULL.
--: query_writers(among text)
SELECT string_agg(DISTINCT l.virtualtransaction, ' ')                                      --@ postgres
  FROM pg_catalog.pg_locks l                                                               --@ postgres
 WHERE l.locktype = 'relation' AND l.mode = 'RowExclusiveLock' AND l.granted               --@ postgres
   AND l.relation = 'execution_events'::regclass                                           --@ postgres
   AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())   --@ postgres
   AND l.pid IS DISTINCT FROM pg_backend_pid()                                             --@ postgres
   AND ($1 IS NULL OR l.virtualtransaction = ANY (string_to_array($1, ' ')))               --@ postgres
SELECT NULL WHERE $1 IS NULL                                                               --@ sqlite

--: query_events_after(since time, until time, after i64, types i64, upto i64, n i64)
SELECT @event@
  FROM execution_events v
 WHERE v.sequence_num > $3 AND v.sequence_num <= $5
   AND v.created_at >= $1 AND v.created_at < $2 AND @of_types@
 ORDER BY v.sequence_num LIMIT $6

-- ---- queues and workers

-- There are few leases and timers, however many jobs there are. A timer that continues large work may create
-- jobs, whatever the kind of its execution.
--: query_queue_open(queue text)
SELECT CASE WHEN EXISTS (SELECT 1
                           FROM leases l @execution_of_l@ WHERE e.queue = $1)
              OR EXISTS (SELECT 1
                           FROM timers t JOIN executions e ON e.id = ANY (ARRAY[t.execution])   --@ postgres
                           FROM timers t CROSS JOIN executions e ON e.id = t.execution     --@ sqlite
                          WHERE e.queue = $1 AND (t.kind = TIMER_CONTINUE OR (e.status = S_READY AND e.held IN (HELD_DELAY, HELD_LIMIT))))
            THEN 1 ELSE 0 END

-- Sums of counters, and one index probe for the job that waits longest; never a count over the outbox. Leaves out the
-- queue of a foreground run (here:ID) that has no jobs left.
--: query_queues(most i64)
WITH submitted AS MATERIALIZED (
    SELECT w.queue, count(*) AS n
      FROM (SELECT COALESCE(s.queue, 'default') AS queue FROM submissions s WHERE @waits@ ORDER BY s.id LIMIT $1) AS w
     GROUP BY w.queue
), names AS (
    SELECT queue FROM queue_counters
    UNION
    SELECT substr(key, 7) FROM limits WHERE key LIKE 'queue:%'
    UNION
    SELECT queue FROM submitted
), sums AS (
    SELECT n.queue, CAST(COALESCE(sum(c.ready), 0) AS bigint) AS ready, CAST(COALESCE(sum(c.held), 0) AS bigint) AS held,
           CAST(COALESCE(sum(c.running), 0) AS bigint) AS running
      FROM names n LEFT JOIN queue_counters c ON c.queue = n.queue GROUP BY n.queue
), queues AS (
    SELECT s.*, l.max AS most, l.used, l.resume_max, l.paused_at, l.paused_by, l.pause_reason
      FROM sums s LEFT JOIN limits l ON l.key = 'queue:' || s.queue
)
SELECT q.queue, q.ready, q.held, q.running,
       (SELECT o.ready_at FROM task_outbox o WHERE o.queue = q.queue
           AND o.ready_at > @any_time@
         ORDER BY o.ready_at LIMIT 1),
       q.most, q.used, q.resume_max, q.paused_at, q.paused_by, q.pause_reason, @last_audit@, COALESCE(w.n, 0)
  FROM queues q
  LEFT JOIN submitted w ON w.queue = q.queue
  LEFT JOIN operator_orders d ON d.subject = 'queue:' || q.queue
       AND d.seq = (SELECT max(n.seq) FROM operator_orders n WHERE n.subject = 'queue:' || q.queue)
 WHERE q.ready <> 0 OR q.held <> 0 OR q.running <> 0 OR q.most IS NOT NULL OR q.queue NOT LIKE 'here:%'
 ORDER BY q.queue

--: query_setting(name text)
SELECT s.value, @last_audit@
  FROM settings s
  LEFT JOIN operator_orders d ON d.subject = s.name
       AND d.seq = (SELECT max(n.seq) FROM operator_orders n WHERE n.subject = s.name)
 WHERE s.name = 'setting:' || $1

--= token k.name, k.scopes, k.queues, k.lanes, k.created_at, k.created_by, k.expires_at, k.revoked_at, k.revoked_by, k.last_used_at

--: query_token(hash bytes)
SELECT @token@ FROM access_tokens k WHERE k.hash = $1

-- Which of these tokens exist, and when they end.
--: query_token_ends(; n i64, hash bytes)
SELECT :n, k.expires_at, k.revoked_at FROM access_tokens k @given@ WHERE k.hash = ANY (:hash)

-- Tokens may have the same name, one after another. The entry that belongs to a token is the one of its own time.
--: query_tokens()
SELECT @token@, @last_audit@
  FROM access_tokens k
  LEFT JOIN operator_orders d ON d.subject = 'token:' || k.name
       AND d.seq = (SELECT max(n.seq) FROM operator_orders n
                     WHERE n.subject = 'token:' || k.name AND n.made_at = COALESCE(k.revoked_at, k.created_at)
                       AND n.action = CASE WHEN k.revoked_at IS NULL THEN AUDIT_CREATED ELSE AUDIT_REVOKED END)
 ORDER BY k.name, k.created_at, k.hash

--: query_workers()
SELECT w.id, w.started_at, w.seen_at, w.pid, w.room, w.host, w.folder, w.version, w.serves, w.executors, w.claim_ahead,
       w.drain_requested_at, w.drain_requested_by, w.drain_reason
  FROM workers w ORDER BY w.id

-- There are few leases: this scans them all.
--: query_lease_counts()
SELECT worker, count(*) FROM leases WHERE worker IS NOT NULL GROUP BY worker ORDER BY worker

-- An orphan counts as a lease of its last holder, whose file shows whether the attempt was started.
--: query_leases(worker i64, after i64, n i64)
SELECT @whole@, @past@
  FROM leases l @execution_of_l@
 WHERE l.execution > $2 AND ($1 = 0 OR COALESCE(l.worker, @last_worker@) = $1)
 ORDER BY l.execution LIMIT $3
