-- The statements of every turn (turn.c): its number, its locks, and the rows that it changes.

-- The first statement of a turn. A trigger refuses a turn of a process that is older than the schema. Retention locks
-- the rows of silent writers while it merges their counters, so a turn can't add to counters that are being merged.
-- Returns the version of the settings that all processes share.
--: turn_write(writer i64, turn i64, at time, ahead_us i64, schema_version i32)
INSERT INTO turns (writer, turn, at, schema_version)
VALUES ($1, $2, $3, $5)                                                                    --@ sqlite
VALUES ($1, $2, now() + $4 * interval '1 microsecond', $5)                                 --@ postgres
ON CONFLICT (writer) DO UPDATE SET turn = excluded.turn, at = excluded.at, schema_version = excluded.schema_version
RETURNING @settings_version@

-- Waits for a backend that may still be executing this writer's COMMIT. If that was the first turn, no row exists yet,
-- and the insert of the same key waits; otherwise turn_read waits for the lock on the row.
--: turn_touch(writer i64, schema_version i32)
INSERT INTO turns (writer, turn, at, schema_version)
VALUES ($1, 0, 0, $2)                                                                      --@ sqlite
VALUES ($1, 0, now(), $2)                                                                  --@ postgres
ON CONFLICT (writer) DO NOTHING

--: turn_read(writer i64)
SELECT turn FROM turns WHERE writer = $1
   FOR UPDATE                                                                              --@ postgres

-- PostgreSQL returns each new id; SQLite returns only the first of n consecutive ids.
--: new_ids(n i64)
SELECT nextval('execution_id') FROM generate_series(1, $1)                                 --@ postgres
UPDATE counters SET value = value + $1 WHERE name = 'execution_id' RETURNING value - $1 + 1   --@ sqlite

-- Creates partitions for events; returns the first root id that has none.
--: create_partitions(wanted i64)
SELECT make_event_partitions($1)                                                           --@ postgres
SELECT 9223372036854775807                                                                 --@ sqlite

--: roots_of(; id i64)
SELECT e.id, e.root
  FROM executions e WHERE e.id = ANY ($1)

-- Takes root locks. Skips roots that another turn has locked; the caller tries them again in its next turn.
--: lock_roots(; id i64)
SELECT e.id
  FROM executions e WHERE e.id = ANY ($1)
   FOR NO KEY UPDATE OF e SKIP LOCKED                                                      --@ postgres

-- Like lock_roots, but waits for locks; the order prevents deadlocks.
--: lock_roots_wait(; id i64)
SELECT e.id
  FROM executions e WHERE e.id = ANY ($1)
 ORDER BY e.id                                                                             --@ postgres
   FOR NO KEY UPDATE OF e                                                                  --@ postgres

-- Reads no lease: if a row changed while this statement ran, PostgreSQL reads it again, but not the rows that it is
-- joined with. leases_of reads the leases next, when the execution is locked and no other transaction changes its
-- worker.
--: load(; id i64)
SELECT @job@, @no_lease@
  FROM executions e WHERE e.id = ANY ($1)
   FOR UPDATE OF e SKIP LOCKED                                                             --@ postgres

--: load_wait(; id i64)
SELECT @job@, @no_lease@
  FROM executions e WHERE e.id = ANY ($1)
 ORDER BY e.id                                                                             --@ postgres
   FOR UPDATE OF e                                                                         --@ postgres

--: leases_of(; id i64)
SELECT l.execution, l.worker, l.until, l.expired_at, l.folder
  FROM leases l WHERE l.execution = ANY ($1)

-- Also blocks transactions that create or remove a limit until this turn ends: they lock the table (limits_table_lock).
--: lock_limits(; key text)
SELECT l.key, l.max, l.used
  FROM unnest($1) WITH ORDINALITY AS u(key, n) JOIN limits l ON l.key = ANY (ARRAY[u.key])   --@ postgres
 ORDER BY u.n                                                                              --@ postgres
   FOR UPDATE OF l                                                                         --@ postgres
  FROM limits l WHERE l.key = $1                                                           --@ sqlite

-- Like lock_limits, for limits that are needed out of order: skips those that other transactions have locked.
--: try_limits(; key text)
SELECT l.key, l.max, l.used
  FROM limits l @given@ WHERE l.key = ANY (:key)
   FOR UPDATE OF l SKIP LOCKED                                                             --@ postgres

--: limits_existing(; key text)
SELECT l.key
  FROM limits l @given@ WHERE l.key = ANY (:key)
