-- What running jobs needs beyond queueing them: how each is to be run, the output of its attempts, what workers
-- count, and the generation of the database.

-- How a job is run (src/core/spec.h), as JSON; null for what needs no more than its lane and its input.
ALTER TABLE executions ADD COLUMN spec TEXT;

-- The kept output of an attempt, in chunks: `raw` bytes from `start` on, packed with zstd unless that would not make
-- them smaller. `dropped` is how much had been left out before this chunk. Only the highest epoch of an attempt counts:
-- whoever takes it over sends its output from 0 again (docs/adr/0028).
CREATE TABLE attempt_logs (
    execution bigint NOT NULL,
    attempt INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    start bigint NOT NULL,
    raw INTEGER NOT NULL,
    dropped bigint NOT NULL,
    packed smallint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (execution, attempt, epoch, start)
);                                                          --@ postgres
) STRICT;                                                   --@ sqlite
-- It was packed already.
ALTER TABLE attempt_logs ALTER COLUMN data SET STORAGE EXTERNAL;   --@ postgres

-- What workers counted, each in rows of its own; those of workers that are gone are folded into worker 0. `labels` is
-- Prometheus text: queue="default",executor="process".
CREATE TABLE worker_counters (
    worker bigint NOT NULL,
    metric TEXT NOT NULL,
    labels TEXT NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (worker, metric, labels)
) WITH (fillfactor = 50);                                   --@ postgres
) STRICT, WITHOUT ROWID;                                    --@ sqlite

-- Part of every attempt's identity, beside the id of the database: raised after a backup was restored, so that what was
-- started before is told from what is started after, though epochs repeat.
INSERT INTO settings (name, value) VALUES ('generation', '1');

-- When an engine last removed what is old by itself, µs since 1970.
INSERT INTO settings (name, value) VALUES ('retained_at', '0');

-- Which lanes a worker serves in which queues: JSON, {"process": ["default", "mail"]}; null where it did not say.
ALTER TABLE workers ADD COLUMN serves TEXT;

-- A paused queue has a limit of 0; resume_max is the one that comes back, -1: none. Null: the queue is not paused.
ALTER TABLE limits ADD COLUMN resume_max INTEGER;
ALTER TABLE limits ADD COLUMN paused_at timestamptz;
ALTER TABLE limits ADD COLUMN paused_by TEXT;
ALTER TABLE limits ADD COLUMN pause_reason TEXT;
