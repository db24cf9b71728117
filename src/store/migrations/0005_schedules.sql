-- What fires by the clock. A schedule belongs to a workflow that was applied (workflow_names) and is called by its place
-- in the list or by a name of its own: "nightly/1", "nightly/weekly". Its id stays what it is when places change, as long
-- as the pattern does, so that a due time is fired once whatever is applied meanwhile.
--
-- catchup, jitter: µs; catchup -1: the last alone. params: what `with` says, JSON.
-- done_at: everything that was due until then is fired, left out or missed. next_at: when to look again, null: not
-- before something changes. waiting_at: a due time that is begun when last_run, the newest run, has ended.
CREATE TABLE schedules (
    id bigint PRIMARY KEY,
    done_at timestamptz NOT NULL,
    next_at timestamptz,
    waiting_at timestamptz,
    last_run bigint,
    start_at timestamptz,
    end_at timestamptz,
    catchup bigint NOT NULL,
    jitter bigint NOT NULL,
    overlap smallint NOT NULL,
    workflow TEXT NOT NULL,
    name TEXT NOT NULL,
    cron TEXT NOT NULL,
    tz TEXT,
    params TEXT NOT NULL,
    skipped bigint NOT NULL,
    skipped_at timestamptz,
    missed_at timestamptz,
    paused_at timestamptz,
    paused_by TEXT,
    pause_reason TEXT,
    problem TEXT
);                                                          --@ postgres
) STRICT;                                                   --@ sqlite
CREATE UNIQUE INDEX schedules_name ON schedules (workflow, name);
CREATE INDEX schedules_next ON schedules (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX schedules_waiting ON schedules (id) WHERE waiting_at IS NOT NULL;

-- The primary key is what makes a firing unique, however many engines look. Rows go with their executions.
CREATE TABLE schedule_firings (
    schedule bigint NOT NULL,
    due_at timestamptz NOT NULL,
    execution bigint NOT NULL,
    PRIMARY KEY (schedule, due_at)
);                                                          --@ postgres
) STRICT, WITHOUT ROWID;                                    --@ sqlite
CREATE INDEX schedule_firings_execution ON schedule_firings (execution);
