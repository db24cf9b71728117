-- The statements of the door: one for each kind of row, each writing a set of rows. Updates and deletes have a guard:
-- they name the values that the door read before. If a guard does not match, the turn is rolled back with an error.
-- Those of executions have their columns in the order of the table in execution.c.

--: execution_insert(; id i64, parent i64, root i64, workflow i64, rerun_of i64,
--:+ requested_at time, started_at time, finished_at time, updated_at time,
--:+ priority i32, attempts i32, max_attempts i32, epoch i32, seq i32,
--:+ needs_left i32, needs_succeeded i32, children_open i32, children_made i32, notify_left i32,
--:+ task_index i32, depth i32, kind i16, status i16, held i16, deferred i16, flags i16,
--:+ cancel_requested i16, name text, queue text, lane text, concurrency text, held_key text,
--:+ task_name text, input text, result text, error text, spec text)
INSERT INTO executions (id, parent, root, workflow, rerun_of,
       requested_at, started_at, finished_at, updated_at,
       priority, attempts, max_attempts, epoch, seq,
       needs_left, needs_succeeded, children_open, children_made, notify_left, task_index, depth,
       kind, status, held, deferred, flags, cancel_requested,
       name, queue, lane, concurrency, held_key, task_name, input, result, error, spec)
SELECT * FROM @rows@ AS u                                                                  --@ postgres
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,   --@ sqlite
       $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37)   --@ sqlite

-- The columns that a turn may change; execution_outcome adds result and error.
--= changed_pg started_at = u.started_at, finished_at = u.finished_at, updated_at = u.updated_at, attempts = u.attempts,
--=+       max_attempts = u.max_attempts, epoch = u.epoch, seq = u.seq, needs_left = u.needs_left,
--=+       needs_succeeded = u.needs_succeeded, children_open = u.children_open, children_made = u.children_made,
--=+       notify_left = u.notify_left, status = u.status, held = u.held, deferred = u.deferred, flags = u.flags,
--=+       cancel_requested = u.cancel_requested, held_key = u.held_key
--= changed_sqlite started_at, finished_at, updated_at, attempts, max_attempts, epoch, seq, needs_left, needs_succeeded,
--=+       children_open, children_made, notify_left, status, held, deferred, flags, cancel_requested, held_key

-- seq is the guard: every event raises it, so an equal seq means that no other transaction has written the row since.
--: execution_update(; id i64, old_seq i32, started_at time, finished_at time, updated_at time,
--:+ attempts i32, max_attempts i32, epoch i32, seq i32, needs_left i32, needs_succeeded i32,
--:+ children_open i32, children_made i32, notify_left i32,
--:+ status i16, held i16, deferred i16, flags i16, cancel_requested i16, held_key text)
UPDATE executions AS e
   SET (@changed_sqlite@)                                                                  --@ sqlite
     = ($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)             --@ sqlite
   SET @changed_pg@                                                                        --@ postgres
  FROM @rows@ AS u                                                                         --@ postgres
 WHERE e.id = ANY (ARRAY[u.id]) AND e.seq = u.old_seq                                      --@ postgres
 WHERE e.id = $1 AND e.seq = $2                                                            --@ sqlite

-- As execution_update, with result and error; for the end of an attempt and for a rerun.
--: execution_outcome(; id i64, old_seq i32, started_at time, finished_at time, updated_at time,
--:+ attempts i32, max_attempts i32, epoch i32, seq i32, needs_left i32, needs_succeeded i32,
--:+ children_open i32, children_made i32, notify_left i32,
--:+ status i16, held i16, deferred i16, flags i16, cancel_requested i16, held_key text, result text, error text)
UPDATE executions AS e
   SET (@changed_sqlite@, result, error)                                                   --@ sqlite
     = ($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)   --@ sqlite
   SET @changed_pg@, result = u.result, error = u.error                                    --@ postgres
  FROM @rows@ AS u                                                                         --@ postgres
 WHERE e.id = ANY (ARRAY[u.id]) AND e.seq = u.old_seq                                      --@ postgres
 WHERE e.id = $1 AND e.seq = $2                                                            --@ sqlite

-- SQLite has one writer, so the turn numbers its events itself. PostgreSQL takes numbers from the sequence inside the
-- INSERT, after the lock on the table is taken; readers that follow events rely on this order (docs/adr/0022).
--: event_insert(; sequence_num i64, root i64, execution i64, created_at time, worker i64, seq i32,
--:+ attempt i32, epoch i32, type i16, from_status i16, to_status i16, data text)
INSERT INTO execution_events (sequence_num, root, execution, created_at, worker, seq, attempt, epoch,
                              type, from_status, to_status, data)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)                                 --@ sqlite
SELECT nextval('event_sequence'), u.root, u.execution, u.created_at, u.worker, u.seq, u.attempt, u.epoch,   --@ postgres
       u.type, u.from_status, u.to_status, u.data                                          --@ postgres
  FROM @rows@ AS u                                                                         --@ postgres

-- The number of the last event ever written. Retention may have deleted that event, so event_floor counts too.
--: event_base()
SELECT max((SELECT COALESCE(max(sequence_num), 0) FROM execution_events),                  --@ sqlite
           (SELECT value FROM counters WHERE name = 'event_floor'))                        --@ sqlite

--: outbox_insert(; lane text, queue text, rank i32, execution i64, ready_at time, concurrency text)
INSERT INTO task_outbox (lane, queue, rank, execution, ready_at, concurrency)
VALUES ($1, $2, $3, $4, $5, $6)                                                            --@ sqlite
SELECT * FROM @rows@ AS u                                                                  --@ postgres

--: outbox_delete(; lane text, queue text, rank i32, execution i64)
DELETE FROM task_outbox AS o
 USING @rows@ AS u                                                                         --@ postgres
 WHERE o.lane = ANY (ARRAY[u.lane]) AND o.queue = u.queue AND o.rank = u.rank AND o.execution = u.execution   --@ postgres
 WHERE lane = $1 AND queue = $2 AND rank = $3 AND execution = $4                           --@ sqlite

-- As outbox_delete, for rows that this turn has locked: finds them by ctid, without an index probe for each.
--: outbox_delete_by_ctid(; outbox_ctid tid, execution i64)
DELETE FROM task_outbox AS o                                                               --@ postgres
 USING @rows@ AS u WHERE o.ctid = u.outbox_ctid AND o.execution + 0 = u.execution          --@ postgres

--: lease_insert(; execution i64, epoch i32, worker i64, until time, folder text)
INSERT INTO leases (execution, epoch, worker, until, folder)
VALUES ($1, $2, $3, $4, $5)                                                                --@ sqlite
SELECT * FROM @rows@ AS u                                                                  --@ postgres

-- An adoption (another worker, a higher epoch) or an expiry (no worker).
--: lease_update(; execution i64, old_epoch i32, epoch i32, worker i64, until time, expired_at time, folder text)
UPDATE leases AS l
   SET epoch = u.epoch, worker = u.worker, until = u.until, expired_at = u.expired_at, folder = u.folder   --@ postgres
  FROM @rows@ AS u                                                                         --@ postgres
 WHERE l.execution = ANY (ARRAY[u.execution]) AND l.epoch = u.old_epoch                    --@ postgres
   SET epoch = $3, worker = $4, until = $5, expired_at = $6, folder = $7                   --@ sqlite
 WHERE execution = $1 AND epoch = $2                                                       --@ sqlite

--: lease_delete(; execution i64, epoch i32)
DELETE FROM leases AS l
 USING @rows@ AS u WHERE l.execution = ANY (ARRAY[u.execution]) AND l.epoch = u.epoch      --@ postgres
 WHERE execution = $1 AND epoch = $2                                                       --@ sqlite

--: timer_insert(; due_at time, execution i64, kind i16)
INSERT INTO timers (due_at, execution, kind)
VALUES ($1, $2, $3)                                                                        --@ sqlite
SELECT * FROM @rows@ AS u                                                                  --@ postgres
ON CONFLICT DO NOTHING

--: timer_delete(; execution i64, kind i16)
DELETE FROM timers AS t
 USING @rows@ AS u WHERE t.execution = ANY (ARRAY[u.execution]) AND t.kind + 0 = u.kind    --@ postgres
 WHERE execution = $1 AND kind = $2                                                        --@ sqlite

--: limit_write(; key text, used i32)
UPDATE limits AS l
   SET used = u.used FROM @rows@ AS u WHERE l.key = ANY (ARRAY[u.key])                     --@ postgres
   SET used = $2 WHERE key = $1                                                            --@ sqlite

--: wait_insert(; key text, rank i32, execution i64)
INSERT INTO limit_waits (key, rank, execution)
VALUES ($1, $2, $3)                                                                        --@ sqlite
SELECT * FROM @rows@ AS u                                                                  --@ postgres

--: wait_delete(; key text, rank i32, execution i64)
DELETE FROM limit_waits AS w
 USING @rows@ AS u                                                                         --@ postgres
 WHERE w.key = ANY (ARRAY[u.key]) AND w.rank = u.rank AND w.execution = u.execution                     --@ postgres
 WHERE key = $1 AND rank = $2 AND execution = $3                                           --@ sqlite

--: counter_add(writer i64; queue text, ready i64, held i64, running i64)
INSERT INTO queue_counters AS c (queue, writer, ready, held, running)
VALUES ($2, $1, $3, $4, $5)                                                                --@ sqlite
SELECT u.queue, $1, u.ready, u.held, u.running                                             --@ postgres
  FROM @rows@ AS u                                                                         --@ postgres
ON CONFLICT (queue, writer) DO UPDATE
   SET ready = c.ready + excluded.ready, held = c.held + excluded.held, running = c.running + excluded.running
