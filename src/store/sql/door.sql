-- The statements of the door: one for each kind of row, each writing a set of rows. Updates and deletes have a guard:
-- they name the values that the door read before. If a guard does not match, the turn is rolled back with an error.
-- The statements for executions have their columns in the order of the table in execution.c.

--: execution_insert(; id i64, parent i64, root i64, workflow i64, rerun_of i64,
--:+ requested_at time, started_at time, finished_at time, updated_at time, idle i64,
--:+ priority i32, attempts i32, max_attempts i32, epoch i32, seq i32,
--:+ needs_left i32, needs_succeeded i32, children_open i32, children_made i32, notify_left i32,
--:+ task_index i32, depth i32, kind i16, status i16, held i16, deferred i16, flags i16,
--:+ cancel_requested i16, name text, queue text, lane text, concurrency text, held_key text,
--:+ task_name text, input text, result text, error text, spec text)
INSERT INTO executions @given@

-- The columns that a turn may change; execution_outcome adds result and error.
--= changed started_at = :started_at, finished_at = :finished_at, updated_at = :updated_at, idle = :idle, attempts = :attempts,
--=+        max_attempts = :max_attempts, epoch = :epoch, seq = :seq, needs_left = :needs_left,
--=+        needs_succeeded = :needs_succeeded, children_open = :children_open, children_made = :children_made,
--=+        notify_left = :notify_left, status = :status, held = :held, deferred = :deferred, flags = :flags,
--=+        cancel_requested = :cancel_requested, held_key = :held_key

-- seq is the guard: every event raises it, so an equal seq means that no other transaction has written the row since.
--: execution_update(; id i64, old_seq i32, started_at time, finished_at time, updated_at time, idle i64,
--:+ attempts i32, max_attempts i32, epoch i32, seq i32, needs_left i32, needs_succeeded i32,
--:+ children_open i32, children_made i32, notify_left i32,
--:+ status i16, held i16, deferred i16, flags i16, cancel_requested i16, held_key text)
UPDATE executions AS e SET @changed@ @given@
 WHERE e.id = ANY (:id) AND e.seq = :old_seq

-- Like execution_update, with result and error; for the end of an attempt and for a rerun.
--: execution_outcome(; id i64, old_seq i32, started_at time, finished_at time, updated_at time, idle i64,
--:+ attempts i32, max_attempts i32, epoch i32, seq i32, needs_left i32, needs_succeeded i32,
--:+ children_open i32, children_made i32, notify_left i32,
--:+ status i16, held i16, deferred i16, flags i16, cancel_requested i16, held_key text, result text, error text)
UPDATE executions AS e SET @changed@, result = :result, error = :error @given@
 WHERE e.id = ANY (:id) AND e.seq = :old_seq

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
INSERT INTO task_outbox @given@

--: outbox_delete(; lane text, queue text, rank i32, execution i64)
DELETE FROM task_outbox AS o @given@ WHERE o.lane = ANY (:lane) AND o.queue = :queue AND o.rank = :rank AND o.execution = :execution

-- Like outbox_delete, for rows that this turn has locked: finds them by ctid, without an index probe for each.
--: outbox_delete_by_ctid(; outbox_ctid tid, execution i64)
DELETE FROM task_outbox AS o                                                               --@ postgres
 USING @rows@ AS u WHERE o.ctid = u.outbox_ctid AND o.execution + 0 = u.execution          --@ postgres

--: lease_insert(; execution i64, epoch i32, worker i64, until time, folder text)
INSERT INTO leases @given@

-- Changes a lease: an adoption (another worker, a higher epoch) or an expiry (no worker).
--: lease_update(; execution i64, old_epoch i32, epoch i32, worker i64, until time, expired_at time, folder text)
UPDATE leases AS l
   SET epoch = :epoch, worker = :worker, until = :until, expired_at = :expired_at, folder = :folder @given@
 WHERE l.execution = ANY (:execution) AND l.epoch = :old_epoch

--: lease_delete(; execution i64, epoch i32)
DELETE FROM leases AS l @given@ WHERE l.execution = ANY (:execution) AND l.epoch = :epoch

--: timer_insert(; due_at time, execution i64, kind i16)
INSERT INTO timers @given@
ON CONFLICT DO NOTHING

--: timer_delete(; execution i64, kind i16)
DELETE FROM timers AS t @given@ WHERE t.execution = ANY (:execution) AND t.kind + 0 = :kind

--: limit_write(; key text, max i32, used i32)
UPDATE limits AS l
   SET max = :max, used = :used @given@ WHERE l.key = ANY (:key)

--: wait_insert(; key text, rank i32, execution i64)
INSERT INTO limit_waits @given@

--: wait_delete(; key text, rank i32, execution i64)
DELETE FROM limit_waits AS w @given@ WHERE w.key = ANY (:key) AND w.rank = :rank AND w.execution = :execution

--: counter_add(writer i64; queue text, ready i64, held i64, running i64)
INSERT INTO queue_counters AS c (queue, writer, ready, held, running)
VALUES ($2, $1, $3, $4, $5)                                                                --@ sqlite
SELECT u.queue, $1, u.ready, u.held, u.running                                             --@ postgres
  FROM @rows@ AS u                                                                         --@ postgres
ON CONFLICT (queue, writer) DO UPDATE
   SET ready = c.ready + excluded.ready, held = c.held + excluded.held, running = c.running + excluded.running
