-- The clock of the SQLite driver (driver/sqlite/clock.c): the offset between the boot clock and the database's time.

--: sqlite_clock_get()
SELECT boot_id, offset_us FROM clock WHERE id = 1                           --@ sqlite

-- The newest stored time; sequence_num is the rowid, so this is one index probe.
--: sqlite_clock_newest()
SELECT created_at FROM execution_events ORDER BY sequence_num DESC LIMIT 1  --@ sqlite

--: sqlite_clock_set(boot_id text, offset_us i64)
INSERT INTO clock (id, boot_id, offset_us) VALUES (1, $1, $2)               --@ sqlite
ON CONFLICT (id) DO UPDATE                                                  --@ sqlite
SET boot_id = excluded.boot_id, offset_us = excluded.offset_us              --@ sqlite
