-- What every turn needs: its number, its locks, the rows it works on.

-- The first statement of a turn: whoever folds the counters of silent writers holds this row meanwhile.
--: turn_write(writer i64, turn i64, at time, ahead_us i64)
INSERT INTO turns (writer, turn, at)
VALUES ($1, $2, $3)                                                                        --@ sqlite
VALUES ($1, $2, now() + $4 * interval '1 microsecond')                                     --@ postgres
ON CONFLICT (writer) DO UPDATE SET turn = excluded.turn, at = excluded.at

-- A backend may still be busy with our COMMIT. If it was our first turn there is no row to wait for yet, but
-- an insert of the same key waits for it; else the lock on the row does.
--: turn_touch(writer i64)
INSERT INTO turns (writer, turn, at)
VALUES ($1, 0, 0)                                                                          --@ sqlite
VALUES ($1, 0, now())                                                                      --@ postgres
ON CONFLICT (writer) DO NOTHING

--: turn_read(writer i64)
SELECT turn FROM turns WHERE writer = $1
   FOR UPDATE                                                                              --@ postgres

-- Every id, or only the first of a run without gaps.
--: new_ids(n i64)
SELECT nextval('execution_id') FROM generate_series(1, $1)                                 --@ postgres
UPDATE counters SET value = value + $1 WHERE name = 'execution_id' RETURNING value - $1 + 1   --@ sqlite

-- The first root without a partition for its events.
--: create_partitions(wanted i64)
SELECT make_event_partitions($1)                                                           --@ postgres
SELECT 9223372036854775807                                                                 --@ sqlite

--: roots_of(; id i64)
SELECT e.id, e.root
  FROM executions e WHERE e.id = ANY ($1)                                                  --@ postgres
  FROM executions e WHERE e.id = $1                                                        --@ sqlite

-- The lock of a tree. Skipped ones are locked by another turn: they wait for our next one.
--: lock_roots(; id i64)
SELECT e.id
  FROM executions e WHERE e.id = ANY ($1)                                                  --@ postgres
   FOR NO KEY UPDATE OF e SKIP LOCKED                                                      --@ postgres
  FROM executions e WHERE e.id = $1                                                        --@ sqlite

-- Whoever waits says in which order.
--: lock_roots_wait(; id i64)
SELECT e.id
  FROM executions e WHERE e.id = ANY ($1)                                                  --@ postgres
 ORDER BY e.id                                                                             --@ postgres
   FOR NO KEY UPDATE OF e                                                                  --@ postgres
  FROM executions e WHERE e.id = $1                                                        --@ sqlite

-- Without the lease: rows that were waited for, or changed under us, are read anew, what they are joined with is
-- not. The lease is read by the next statement, when the execution is locked and nobody changes its holder.
--: load(; id i64)
SELECT @job@, @no_lease@
  FROM executions e WHERE e.id = ANY ($1)                                                  --@ postgres
   FOR UPDATE OF e SKIP LOCKED                                                             --@ postgres
  FROM executions e WHERE e.id = $1                                                        --@ sqlite

--: load_wait(; id i64)
SELECT @job@, @no_lease@
  FROM executions e WHERE e.id = ANY ($1)                                                  --@ postgres
 ORDER BY e.id                                                                             --@ postgres
   FOR UPDATE OF e                                                                         --@ postgres
  FROM executions e WHERE e.id = $1                                                        --@ sqlite

--: leases_of(; id i64)
SELECT l.execution, l.worker, l.until, l.expired_at, l.folder
  FROM leases l WHERE l.execution = ANY ($1)                                               --@ postgres
  FROM leases l WHERE l.execution = $1                                                     --@ sqlite

-- Also keeps out whoever creates or removes a limit, until this turn ends: that takes the table's lock.
--: lock_limits(; key text)
SELECT l.key, l.max, l.used
  FROM unnest($1) WITH ORDINALITY AS u(key, n) JOIN limits l ON l.key = ANY (ARRAY[u.key])   --@ postgres
 ORDER BY u.n                                                                              --@ postgres
   FOR UPDATE OF l                                                                         --@ postgres
  FROM limits l WHERE l.key = $1                                                           --@ sqlite

-- The same for limits that are needed out of their order: what others hold is left out.
--: try_limits(; key text)
SELECT l.key, l.max, l.used
  FROM @rows@ AS u JOIN limits l ON l.key = ANY (ARRAY[u.key])                             --@ postgres
   FOR UPDATE OF l SKIP LOCKED                                                             --@ postgres
  FROM limits l WHERE l.key = $1                                                           --@ sqlite

--: limits_existing(; key text)
SELECT l.key
  FROM @rows@ AS u JOIN limits l ON l.key = ANY (ARRAY[u.key])                             --@ postgres
  FROM limits l WHERE l.key = $1                                                           --@ sqlite
