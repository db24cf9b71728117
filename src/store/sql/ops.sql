-- The statements of the operations (ops/*.c), other than those of the door.

-- ---- submit

--: key_insert(; key text, execution i64, body bytes)
INSERT INTO submit_keys @given@
ON CONFLICT (key) DO NOTHING RETURNING key

--: key_find(; key text)
SELECT k.key, k.execution, k.body
  FROM submit_keys k @given@ WHERE k.key = ANY (:key)

--: limit_create(; key text, max i32)
INSERT INTO limits (key, max, used)
SELECT u.key, u.max, 0 FROM @rows@ AS u                                                    --@ postgres
VALUES ($1, $2, 0)                                                                         --@ sqlite
ON CONFLICT (key) DO NOTHING

-- ---- claim

-- The input and spec of jobs whose rows were loaded without them, such as jobs that the turn itself made ready.
--: inputs_of(; id i64)
SELECT e.id, e.input, e.spec
  FROM executions e WHERE e.id = ANY ($1)

-- PostgreSQL first merges the heads of all lanes and queues, without locks, to count how many jobs of each belong to
-- the first $1. Then it locks that many of each in index order, skipping those that other transactions have locked. So
-- at most $1 rows are locked, and all of them are claimed, with one index probe per lane and queue. The last columns
-- are the ctid of the outbox row and the number of jobs seen; if fewer rows are returned, other transactions have
-- locked the rest. If all jobs of a lane and queue are locked, it returns one row of nulls. SQLite returns up to $1
-- jobs for each lane and queue, and the caller merges them. It has one writer, so no job is locked.
--: claim(n i64; lane text, queue text)
WITH head AS MATERIALIZED (                                                                --@ postgres
    SELECT o.lane, o.queue                                                                 --@ postgres
      FROM @rows@ AS p                                                                     --@ postgres
      CROSS JOIN LATERAL (SELECT t.* FROM task_outbox t                                    --@ postgres
                           WHERE t.lane = p.lane AND t.queue = p.queue                     --@ postgres
                           ORDER BY t.rank, t.execution LIMIT $1) o                        --@ postgres
     ORDER BY o.rank, o.execution LIMIT $1                                                 --@ postgres
), due AS MATERIALIZED (                                                                   --@ postgres
    SELECT lane, queue, count(*) AS n FROM head GROUP BY lane, queue                       --@ postgres
)                                                                                          --@ postgres
SELECT c.*, (SELECT count(*) FROM head) FROM due d                                         --@ postgres
  LEFT JOIN LATERAL (                                                                      --@ postgres
    SELECT @job@, @no_lease@, e.input, e.spec, o.ctid                                      --@ postgres
      FROM task_outbox o JOIN executions e ON e.id = ANY (ARRAY[o.execution])              --@ postgres
     WHERE o.lane = d.lane AND o.queue = d.queue AND e.status = S_READY AND e.held = HELD_NONE --@ postgres
     ORDER BY o.rank, o.execution LIMIT d.n                                                --@ postgres
       FOR UPDATE OF o, e SKIP LOCKED) c ON true                                           --@ postgres
SELECT @job@, @no_lease@, e.input, e.spec, 0, 0                                            --@ sqlite
  FROM task_outbox o CROSS JOIN executions e ON e.id = o.execution                         --@ sqlite
 WHERE o.lane = $2 AND o.queue = $3 AND e.status = S_READY AND e.held = HELD_NONE          --@ sqlite
 ORDER BY o.rank, o.execution LIMIT $1                                                     --@ sqlite

-- Whether a job is claimable in one of the lanes and queues. Takes no locks: a concurrent claim would skip locked jobs.
--: outbox_has_jobs(; lane text, queue text)
SELECT 1 FROM @rows@ AS p                                                                  --@ postgres
 CROSS JOIN LATERAL (SELECT 1 FROM task_outbox t WHERE t.lane = p.lane AND t.queue = p.queue LIMIT 1) w LIMIT 1   --@ postgres
SELECT 1 FROM task_outbox WHERE lane = $1 AND queue = $2 LIMIT 1                           --@ sqlite

-- ---- leases

-- Leases are named by execution and epoch, never by worker alone: a lease that its worker has forgotten must expire.
-- PostgreSQL locks the rows first and then reads its clock: a plain UPDATE would compute the new value before it waits
-- for the row.
--: heartbeat(worker i64, until time, ahead_us i64; execution i64, epoch i32)
WITH held AS MATERIALIZED (                                                                --@ postgres
    SELECT l.execution                                                                     --@ postgres
      FROM @rows@ AS u JOIN leases l ON l.execution = ANY (ARRAY[u.execution])             --@ postgres
     WHERE l.epoch = u.epoch AND l.worker = $1                                             --@ postgres
     ORDER BY l.execution                                                                  --@ postgres
       FOR UPDATE OF l                                                                     --@ postgres
), renewed AS (                                                                            --@ postgres
    UPDATE leases l SET until = clock_timestamp() + $3 * interval '1 microsecond'          --@ postgres
      FROM held WHERE l.execution = ANY (ARRAY[held.execution])                            --@ postgres
    RETURNING l.execution, l.epoch)                                                        --@ postgres
SELECT r.execution, r.epoch, e.cancel_requested                                            --@ postgres
  FROM renewed r JOIN executions e ON e.id = ANY (ARRAY[r.execution])                      --@ postgres
UPDATE leases SET until = $2                                                               --@ sqlite
 WHERE execution = $4 AND epoch = $5 AND worker = $1                                       --@ sqlite
RETURNING execution, epoch, (SELECT e.cancel_requested FROM executions e WHERE e.id = leases.execution)   --@ sqlite

-- There are few leases: reap and adopt scan them all.
--: expired(now time, n i64, after i64)
SELECT @state@
  FROM leases l @execution_of_l@
 WHERE l.until < $1 AND l.execution > $3
 ORDER BY l.execution LIMIT $2
   FOR UPDATE OF l, e SKIP LOCKED                                                          --@ postgres

-- The last column is the worker that held the lease last.
--: orphans(folder text, grace_before time, n i64, after i64; lane text)
SELECT @state@, e.input, e.spec,
       (SELECT v.worker FROM execution_events v WHERE v.root = e.root AND v.execution = e.id
           AND v.worker IS NOT NULL ORDER BY v.seq DESC LIMIT 1)
  FROM leases l @execution_of_l@
  JOIN @rows@ AS p ON p.lane = e.lane                                                      --@ postgres
 WHERE l.worker IS NULL AND (l.folder = $1 OR l.expired_at < $2) AND l.execution > $4
   AND e.lane = $5                                                                         --@ sqlite
 ORDER BY l.execution LIMIT $3
   FOR UPDATE OF l, e SKIP LOCKED                                                          --@ postgres

--: leases_of_dead_workers(folder text, n i64; worker i64, lane text)
SELECT @state@, e.input, e.spec, l.worker
  FROM leases l @execution_of_l@
  JOIN @rows@ AS p ON p.worker = l.worker AND p.lane = e.lane                              --@ postgres
 WHERE l.folder = $1
   AND l.worker = $3 AND e.lane = $4                                                       --@ sqlite
 ORDER BY l.execution LIMIT $2
   FOR UPDATE OF l, e SKIP LOCKED                                                          --@ postgres

-- Orphans that no worker has adopted since the given epoch. Read without a lock: a search for orphans may have skipped
-- them because another turn had them locked.
--: orphans_unclaimed(; execution i64, epoch i32)
SELECT l.execution FROM leases l @given@
 WHERE l.execution = ANY (:execution) AND l.epoch = :epoch AND l.worker IS NULL

-- ---- started

-- Adopted attempts whose start was reported before.
--: reported_starts(; root i64, execution i64, attempt i32)
SELECT u.execution                                                                         --@ postgres
  FROM @rows@ AS u                                                                         --@ postgres
 CROSS JOIN LATERAL (SELECT 1 FROM execution_events v WHERE v.root = u.root AND v.execution = u.execution   --@ postgres
                        AND v.type = EV_STARTED AND v.attempt = u.attempt LIMIT 1) w       --@ postgres
SELECT $2                                                                                  --@ sqlite
 WHERE EXISTS (SELECT 1 FROM execution_events v WHERE v.root = $1 AND v.execution = $2     --@ sqlite
                AND v.type = EV_STARTED AND v.attempt = $3)                                --@ sqlite

-- ---- unstarted

-- How many times in a row, so far, the job was returned to its queue because its attempt was unstarted: the number in
-- the last such event; 0 if an attempt or a rerun has started since.
--= unstarted_pg (@data_pg@ ->> 'unstarted')
--= unstarted_sqlite json_extract(v.data, '$.unstarted')
--: unstarted_before(; root i64, execution i64)
SELECT u.execution, w.times                                                                --@ postgres
  FROM @rows@ AS u                                                                         --@ postgres
 CROSS JOIN LATERAL (SELECT CASE WHEN v.type = EV_RELEASED THEN @unstarted_pg@::bigint ELSE 0 END AS times   --@ postgres
SELECT $2, CASE WHEN v.type = EV_RELEASED THEN @unstarted_sqlite@ ELSE 0 END               --@ sqlite
  FROM execution_events v
 WHERE v.root = u.root AND v.execution = u.execution                                       --@ postgres
 WHERE v.root = $1 AND v.execution = $2                                                    --@ sqlite
   AND (v.type IN (EV_STARTED, EV_DEFERRED, EV_RETRY_SCHEDULED, EV_RERUN)
        OR (v.type = EV_RELEASED AND @unstarted_pg@ IS NOT NULL))                          --@ postgres
        OR (v.type = EV_RELEASED AND @unstarted_sqlite@ IS NOT NULL))                      --@ sqlite
 ORDER BY v.seq DESC LIMIT 1
                    ) w                                                                    --@ postgres

-- ---- cancel

-- The open executions of a subtree that have no cancel request and none of the flags $3; parents first. Skips the tasks
-- that still run after their workflow was cancelled: on_exit, and on_failure after its timeout.
--: open_subtree(top i64, n i64, without i32)
WITH RECURSIVE tree(id, status, depth, cancel_requested, flags) AS (
    SELECT id, status, depth, cancel_requested, flags FROM executions WHERE id = $1
    UNION ALL
    SELECT c.id, c.status, c.depth, c.cancel_requested, c.flags FROM tree t @children_of_t@
     WHERE t.cancel_requested = 0 OR c.cancel_requested = 1 OR c.task_name IS NULL
        OR c.task_name NOT IN ('on_exit', 'on_failure') OR c.task_name = 'on_failure' AND t.flags & FLAG_TIMED_OUT = 0
)
SELECT id FROM tree WHERE status < S_SUCCEEDED AND cancel_requested = 0 AND flags & $3 = 0 ORDER BY depth, id LIMIT $2

-- The data of the last event of a type.
--: requested_by(root i64, execution i64, type i16)
SELECT v.data FROM execution_events v
 WHERE v.root = $1 AND v.execution = $2 AND v.type = $3
 ORDER BY v.seq DESC LIMIT 1

-- The original approval request of a job that waits for approval.
--: approval_request(root i64, execution i64)
SELECT v.data FROM execution_events v
 WHERE v.root = $1 AND v.execution = $2 AND v.type = EV_HELD
   AND json_extract(v.data, '$.why') = 'approval'                                          --@ sqlite
   AND @data_pg@ ->> 'why' = 'approval'                                                    --@ postgres
 ORDER BY v.seq DESC LIMIT 1

-- In the subtree of a paused execution: ready jobs that are not held, or held for a delay or a limit, and workflows and
-- fan-outs that wait to start with such a hold.
--: startable_below(top i64, n i64)
WITH RECURSIVE tree(id, kind, status, held) AS (
    SELECT id, kind, status, held FROM executions WHERE id = $1
    UNION ALL
    SELECT c.id, c.kind, c.status, c.held FROM tree t @children_of_t@
)
SELECT id FROM tree
 WHERE (kind <= KIND_EXEC AND status = S_READY AND held IN (HELD_NONE, HELD_DELAY, HELD_LIMIT)) OR (kind > KIND_EXEC AND status = S_PENDING AND held IN (HELD_DELAY, HELD_LIMIT))
 ORDER BY id LIMIT $2

-- In the subtree of an execution whose pause has ended: executions held for a pause, except below another paused
-- execution (FLAG_PAUSED).
--: paused_below(top i64, n i64)
WITH RECURSIVE tree(id, held, paused) AS (
    SELECT id, held, 0 FROM executions WHERE id = $1
    UNION ALL
    SELECT c.id, c.held, CASE WHEN c.status < S_SUCCEEDED THEN c.flags & FLAG_PAUSED ELSE 0 END FROM tree t @children_of_t@
     WHERE t.paused = 0
)
SELECT id FROM tree WHERE held = HELD_PAUSED AND paused = 0 ORDER BY id LIMIT $2

-- ---- timers

--: timers_due(now time, n i64)
SELECT t.execution, t.kind, e.root
  FROM timers t JOIN executions e ON e.id = ANY (ARRAY[t.execution])                       --@ postgres
  FROM timers t CROSS JOIN executions e ON e.id = t.execution                              --@ sqlite
 WHERE t.due_at <= $1 ORDER BY t.due_at, t.execution LIMIT $2

-- The + 0 keeps PostgreSQL from scanning the whole primary key index for the condition on kind.
--: timers_of(; execution i64)
SELECT t.execution, t.due_at
  FROM @rows@ AS u CROSS JOIN LATERAL (SELECT x.* FROM timers x                            --@ postgres
                                        WHERE x.execution = u.execution AND x.kind + 0 = TIMER_DELAY OFFSET 0) t --@ postgres
  FROM timers t WHERE t.execution = $1 AND t.kind = TIMER_DELAY                            --@ sqlite

--: all_timers_of(; execution i64)
SELECT t.execution, t.kind, t.due_at
  FROM @rows@ AS u CROSS JOIN LATERAL (SELECT x.* FROM timers x WHERE x.execution = u.execution OFFSET 0) t   --@ postgres
  FROM timers t WHERE t.execution = $1                                                     --@ sqlite

--: timer_next(n i64)
SELECT due_at, execution, kind FROM timers ORDER BY due_at LIMIT $1

-- ---- limits

--: limits_table_lock()
LOCK TABLE limits IN EXCLUSIVE MODE                                                        --@ postgres
SELECT 1                                                                                   --@ sqlite

-- Executions that wait for a permit, by priority and age; skips those that other transactions have locked.
--: waiters(n i64; key text)
SELECT @state@
  FROM @rows@ AS u                                                                         --@ postgres
 CROSS JOIN LATERAL (SELECT w.* FROM limit_waits w WHERE w.key = u.key                     --@ postgres
                      ORDER BY w.rank, w.execution LIMIT $1 + 100) w                       --@ postgres
  JOIN executions e ON e.id = ANY (ARRAY[w.execution])                                     --@ postgres
  LEFT JOIN leases l ON l.execution = ANY (ARRAY[e.id])                                    --@ postgres
 ORDER BY w.rank, w.execution LIMIT $1                                                     --@ postgres
   FOR UPDATE OF e SKIP LOCKED                                                             --@ postgres
  FROM limit_waits w JOIN executions e ON e.id = w.execution LEFT JOIN leases l ON l.execution = e.id   --@ sqlite
 WHERE w.key = $2 ORDER BY w.rank, w.execution LIMIT $1                                    --@ sqlite

-- The first execution that waits for a permit, even if another transaction has locked it.
--: first_waiter(; key text)
SELECT w.key, w.execution
  FROM @rows@ AS u                                                                         --@ postgres
 CROSS JOIN LATERAL (SELECT f.* FROM limit_waits f WHERE f.key = u.key                     --@ postgres
                      ORDER BY f.rank, f.execution LIMIT 1) w                              --@ postgres
  FROM limit_waits w WHERE w.key = $1 ORDER BY w.rank, w.execution LIMIT 1                 --@ sqlite

--: limit_upsert(key text, max i32, used i32)
INSERT INTO limits AS l (key, max, used) VALUES ($1, $2, $3)
ON CONFLICT (key) DO UPDATE SET max = excluded.max

--: limit_delete(key text)
DELETE FROM limits WHERE key = $1

-- The claimable and running jobs of a queue, from its counters.
--: queue_permits(queue text)
SELECT CAST(COALESCE(sum(ready + running), 0) AS bigint) FROM queue_counters WHERE queue = $1

-- The claimable jobs that are held first when a limit is lowered: the youngest.
--: surplus_of_queue(queue text, n i64)
SELECT @state@
  FROM task_outbox o JOIN executions e ON e.id = ANY (ARRAY[o.execution])                  --@ postgres
  FROM task_outbox o CROSS JOIN executions e ON e.id = o.execution                         --@ sqlite
  LEFT JOIN leases l ON l.execution = ANY (ARRAY[e.id])                                    --@ postgres
  LEFT JOIN leases l ON l.execution = e.id                                                 --@ sqlite
 WHERE o.queue = $1 AND e.status = S_READY AND e.held = HELD_NONE
   AND o.ready_at > @any_time@
 ORDER BY o.ready_at DESC LIMIT $2
   FOR UPDATE OF o, e SKIP LOCKED                                                          --@ postgres

-- The number of claimable jobs, counted up to n.
--: claimable_of_queue(queue text, n i64)
SELECT count(*) FROM (SELECT 1 FROM task_outbox o WHERE o.queue = $1
   AND o.ready_at > @any_time@
 LIMIT $2) AS counted

-- ---- workers

-- A request to drain stays in an existing row; a row that is inserted again gets the request that the worker knows.
--: worker_register(id i64, now time, pid i32, room i32, host text, folder text, version text, serves text,
--:+ executors text, claim_ahead i32, drain_at time, drain_by text, drain_reason text)
INSERT INTO workers (id, started_at, seen_at, pid, room, host, folder, version, serves, executors, claim_ahead,
                     drain_requested_at, drain_requested_by, drain_reason)
VALUES ($1, $2, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, room = excluded.room, serves = excluded.serves,
                               executors = excluded.executors, claim_ahead = excluded.claim_ahead

-- Like worker_register, for a heartbeat that found no row. It does not overwrite room and serves of an existing row:
-- another thread of the worker may have written newer values.
--: worker_reregister(id i64, now time, pid i32, room i32, host text, folder text, version text, serves text,
--:+ executors text, claim_ahead i32, drain_at time, drain_by text, drain_reason text)
INSERT INTO workers (id, started_at, seen_at, pid, room, host, folder, version, serves, executors, claim_ahead,
                     drain_requested_at, drain_requested_by, drain_reason)
VALUES ($1, $2, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at

-- A repeated request keeps the time of the first one.
--: worker_drain(id i64, now time, by_whom text, reason text)
UPDATE workers SET drain_requested_at = COALESCE(drain_requested_at, $2), drain_requested_by = $3, drain_reason = $4
 WHERE id = $1

--: worker_served(id i64)
SELECT serves, executors FROM workers WHERE id = $1

--: worker_drain_request(id i64)
SELECT drain_requested_at, drain_requested_by, drain_reason FROM workers
 WHERE id = $1 AND drain_requested_at IS NOT NULL

--: worker_unregister(id i64)
DELETE FROM workers WHERE id = $1

--: worker_host_write(worker i64, seen_at time, host text)
INSERT INTO worker_hosts (worker, seen_at, host) VALUES ($1, $2, $3)
ON CONFLICT (worker) DO UPDATE SET seen_at = excluded.seen_at

--: worker_host_seen(worker i64, seen_at time)
UPDATE worker_hosts SET seen_at = $2 WHERE worker = $1

-- The version of the schema that programs must know to use the database.
--= minimum_schema (SELECT CAST(value AS bigint) FROM settings WHERE name = 'minimum_schema')

-- All that an idle worker needs to know, in one statement. On PostgreSQL it also reads the clock, because the turn has
-- not read it before.
--: worker_tick(id i64, now time, ahead_us i64)
WITH clock AS MATERIALIZED (SELECT clock_timestamp() + $3 * interval '1 microsecond' AS now),   --@ postgres
     renewed AS (UPDATE workers SET seen_at = clock.now FROM clock WHERE id = $1              --@ postgres
                  RETURNING drain_requested_at)                                           --@ postgres
SELECT (SELECT count(*) FROM leases WHERE until < clock.now),                              --@ postgres
       (SELECT count(*) FROM leases WHERE worker IS NULL),                                 --@ postgres
       (SELECT due_at FROM timers ORDER BY due_at LIMIT 1), clock.now,                     --@ postgres
       @generation@, @next_schedule@,                                                      --@ postgres
       (SELECT count(*) FROM (SELECT 1 FROM task_outbox LIMIT 1) AS waiting),              --@ postgres
       @waiting_submission@, @minimum_schema@,                                             --@ postgres
       CASE WHEN renewed.drain_requested_at IS NULL THEN 0 ELSE 1 END                      --@ postgres
  FROM renewed, clock                                                                      --@ postgres
UPDATE workers SET seen_at = $2 WHERE id = $1                                              --@ sqlite
RETURNING (SELECT count(*) FROM leases WHERE until < $2),                                  --@ sqlite
          (SELECT count(*) FROM leases WHERE worker IS NULL),                              --@ sqlite
          (SELECT due_at FROM timers ORDER BY due_at LIMIT 1), $2,                         --@ sqlite
          @generation@, @next_schedule@,                                                   --@ sqlite
          (SELECT count(*) FROM (SELECT 1 FROM task_outbox LIMIT 1) AS waiting),           --@ sqlite
          @waiting_submission@, @minimum_schema@,                                          --@ sqlite
          CASE WHEN drain_requested_at IS NULL THEN 0 ELSE 1 END                           --@ sqlite

--: next_due()
SELECT (SELECT due_at FROM timers ORDER BY due_at LIMIT 1), @next_schedule@, @waiting_submission@

-- ---- retention

-- Roots after a given id, oldest first. Ids rise with time, so the caller stops at the first root that is too young.
-- Takes no locks: most of the roots are not deleted, and a claim would skip them while they are locked.
--: old_roots(after i64, n i64)
SELECT e.id, e.requested_at, e.finished_at
  FROM executions e
 WHERE e.parent IS NULL AND e.id > $1
 ORDER BY e.id LIMIT $2

--: tree_ids(; root i64)
WITH RECURSIVE tree(root, id, status, seq, finished_at, depth) AS (
    SELECT e.id, e.id, e.status, e.seq, e.finished_at, e.depth
      FROM executions e @given@ WHERE e.id = ANY (:root)
    UNION ALL
    SELECT t.root, c.id, c.status, c.seq, c.finished_at, c.depth FROM tree t @children_of_t@
)
SELECT root, id, status, seq, finished_at FROM tree ORDER BY root, depth DESC, id DESC

--: retention_on()
SELECT set_config('pawl.retention', 'on', true)                                            --@ postgres
INSERT INTO settings (name, value) VALUES ('retention', 'on')                              --@ sqlite
ON CONFLICT (name) DO UPDATE SET value = 'on'                                              --@ sqlite

--: retention_off()
SELECT set_config('pawl.retention', '', true)                                              --@ postgres
DELETE FROM settings WHERE name = 'retention'                                              --@ sqlite

--: events_delete(; root i64, execution i64)
DELETE FROM execution_events AS v @given@ WHERE v.root = ANY (:root) AND v.execution = :execution

--: event_floor_keep()
UPDATE counters SET value = max(value, (SELECT COALESCE(max(sequence_num), 0) FROM execution_events))   --@ sqlite
 WHERE name = 'event_floor'                                                                --@ sqlite
SELECT 1                                                                                   --@ postgres

--: executions_delete(; id i64)
DELETE FROM executions AS e @given@ WHERE e.id = ANY (:id)

--: keys_delete(; execution i64)
DELETE FROM submit_keys AS k @given@ WHERE k.execution = ANY (:execution)

--: timers_delete(; execution i64)
DELETE FROM timers AS t @given@ WHERE t.execution = ANY (:execution)

--: workflows_delete(; execution i64)
DELETE FROM workflow_executions AS w @given@ WHERE w.execution = ANY (:execution)

-- Marks a tree of which a slice deleted only the lower part, until the rest is deleted: verify accepts such a tree.
--: retaining_begin(; root i64)
INSERT INTO settings (name, value)
SELECT 'retaining:' || u.root, 'on' FROM @rows@ AS u                                       --@ postgres
VALUES ('retaining:' || $1, 'on')                                                          --@ sqlite
ON CONFLICT (name) DO NOTHING

--: retaining_end(; root i64)
DELETE FROM settings AS s @given@ WHERE s.name = 'retaining:' || :root

--: drop_partitions(horizon i64)
SELECT drop_event_partitions($1)                                                           --@ postgres
SELECT 0                                                                                   --@ sqlite

-- Writers that are gone: their counters are merged into writer 0, never dropped.
--: stale_writers(before time)
SELECT writer FROM turns WHERE at < $1 LIMIT 1000
   FOR UPDATE SKIP LOCKED                                                                  --@ postgres

--: counters_merge(; writer i64)
INSERT INTO queue_counters AS c (queue, writer, ready, held, running)
SELECT q.queue, 0, CAST(sum(q.ready) AS bigint), CAST(sum(q.held) AS bigint), CAST(sum(q.running) AS bigint)
  FROM @rows@ AS u JOIN queue_counters q ON q.writer = u.writer GROUP BY q.queue           --@ postgres
  FROM queue_counters q WHERE q.writer = $1 GROUP BY q.queue                               --@ sqlite
ON CONFLICT (queue, writer) DO UPDATE
   SET ready = c.ready + excluded.ready, held = c.held + excluded.held, running = c.running + excluded.running

--: counters_delete(; writer i64)
DELETE FROM queue_counters AS c @given@ WHERE c.writer = :writer

-- The merged counters of queues that no longer have jobs.
--: counters_delete_zero()
DELETE FROM queue_counters WHERE writer = 0 AND ready = 0 AND held = 0 AND running = 0

--: turns_delete(; writer i64)
DELETE FROM turns AS t @given@ WHERE t.writer = :writer

--: workers_delete_silent(before time)
DELETE FROM workers WHERE seen_at < $1 AND id NOT IN (SELECT worker FROM leases WHERE worker IS NOT NULL)
RETURNING id

--: worker_hosts_seen(seen_at time; worker i64)
UPDATE worker_hosts AS h SET seen_at = $1 @given@ WHERE h.worker = ANY (:worker)

-- The hosts of workers that ended before the oldest execution was requested, so that no event names them. Ids rise with
-- time, except that an SQL submission may wait between its id and its request: the day is a margin for that.
--: worker_hosts_delete_old(now time, n i64)
DELETE FROM worker_hosts WHERE worker IN (                                                 --@ sqlite
DELETE FROM worker_hosts WHERE worker = ANY (ARRAY(                                        --@ postgres
    SELECT h.worker FROM worker_hosts h
     WHERE h.seen_at < COALESCE((SELECT e.requested_at FROM executions e WHERE e.parent IS NULL ORDER BY e.id LIMIT 1), $1)
                       - interval '1 day'                                                  --@ postgres
                       - 86400000000                                                       --@ sqlite
       AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.id = h.worker)
     ORDER BY h.seen_at LIMIT $2)                                                          --@ sqlite
     ORDER BY h.seen_at LIMIT $2))                                                         --@ postgres
RETURNING worker

-- ---- paused queues

--: pause_read(key text)
SELECT resume_max FROM limits WHERE key = $1

--: pause_write(key text, resume_max i32, now time, by_whom text, reason text)
UPDATE limits SET resume_max = $2, paused_at = COALESCE(paused_at, $3), paused_by = $4, pause_reason = $5
 WHERE key = $1

--: pause_set_max(key text, resume_max i32)
UPDATE limits SET resume_max = $2 WHERE key = $1

--: pause_end(key text)
UPDATE limits SET resume_max = NULL, paused_at = NULL, paused_by = NULL, pause_reason = NULL WHERE key = $1
