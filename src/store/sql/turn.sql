-- What every turn needs: its number, its locks, the rows it works on.

--: turn_write(writer i64, turn i64, at time)
INSERT INTO turns (writer, turn, at) VALUES ($1, $2, $3)
ON CONFLICT (writer) DO UPDATE SET turn = excluded.turn, at = excluded.at

-- Waits for a backend that may still be busy with our COMMIT: it holds the lock on this row.
--: turn_read(writer i64)
SELECT turn FROM turns WHERE writer = $1
   FOR UPDATE                                                                              --@ postgres

-- Every id, or only the first of a run without gaps.
--: take_ids(n i64)
SELECT nextval('execution_id') FROM generate_series(1, $1)                                 --@ postgres
UPDATE counters SET value = value + $1 WHERE name = 'execution_id' RETURNING value - $1 + 1   --@ sqlite

-- The first root without a partition for its events.
--: make_partitions(wanted i64)
SELECT make_event_partitions($1)                                                           --@ postgres
SELECT 9223372036854775807                                                                 --@ sqlite

--: roots_of(; id i64)
SELECT e.id, e.root
  FROM unnest($1) AS u(id) JOIN executions e ON e.id = u.id                                --@ postgres
  FROM executions e WHERE e.id = $1                                                        --@ sqlite

-- The lock of a tree. Skipped ones are locked by another turn: they wait for our next one.
--: lock_roots(; id i64)
SELECT e.id
  FROM unnest($1) AS u(id) JOIN executions e ON e.id = u.id                                --@ postgres
   FOR NO KEY UPDATE OF e SKIP LOCKED                                                      --@ postgres
  FROM executions e WHERE e.id = $1                                                        --@ sqlite

--: lock_roots_wait(; id i64)
SELECT e.id
  FROM unnest($1) AS u(id) JOIN executions e ON e.id = u.id                                --@ postgres
   FOR NO KEY UPDATE OF e                                                                  --@ postgres
  FROM executions e WHERE e.id = $1                                                        --@ sqlite

--: load(; id i64)
SELECT @state@
  FROM unnest($1) AS u(id) JOIN executions e ON e.id = u.id LEFT JOIN leases l ON l.execution = e.id   --@ postgres
   FOR UPDATE OF e SKIP LOCKED                                                             --@ postgres
  FROM executions e LEFT JOIN leases l ON l.execution = e.id WHERE e.id = $1               --@ sqlite

--: load_wait(; id i64)
SELECT @state@
  FROM unnest($1) AS u(id) JOIN executions e ON e.id = u.id LEFT JOIN leases l ON l.execution = e.id   --@ postgres
   FOR UPDATE OF e                                                                         --@ postgres
  FROM executions e LEFT JOIN leases l ON l.execution = e.id WHERE e.id = $1               --@ sqlite

-- Also keeps out whoever creates or removes a limit, until this turn ends: that takes the table's lock.
--: lock_limits(; key text)
SELECT l.key, l.max, l.used
  FROM unnest($1) AS u(key) JOIN limits l ON l.key = u.key                                 --@ postgres
   FOR UPDATE OF l                                                                         --@ postgres
  FROM limits l WHERE l.key = $1                                                           --@ sqlite
