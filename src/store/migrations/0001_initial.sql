-- The first schema. Three concerns, kept apart: state (executions), distribution (task_outbox, leases,
-- timers, limits: small, live rows only) and history (execution_events: append-only).
--
-- Codes are those of src/core/vocab.h. For SQLite bigint, smallint and timestamptz (there microseconds
-- since 1970) are made INTEGER, bytea BLOB. No foreign keys between hot tables: on PostgreSQL they lock the row they
-- point at; verify looks for rows that point nowhere.

CREATE TABLE executions (
    id bigint PRIMARY KEY,
    parent bigint,
    root bigint NOT NULL,
    workflow bigint,
    rerun_of bigint,
    requested_at timestamptz NOT NULL,
    started_at timestamptz,
    finished_at timestamptz,
    updated_at timestamptz NOT NULL,
    priority INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    needs_left INTEGER NOT NULL,
    task_index INTEGER,
    cursor INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    kind smallint NOT NULL,
    status smallint NOT NULL,
    held smallint NOT NULL,
    deferred smallint NOT NULL,
    failed_behind smallint NOT NULL,
    cancel_requested smallint NOT NULL,
    name TEXT NOT NULL,
    queue TEXT NOT NULL,
    lane TEXT,
    concurrency TEXT,
    held_key TEXT,
    task_name TEXT,
    input TEXT,
    result TEXT,
    error TEXT
) WITH (fillfactor = 45);                                   --@ postgres
) STRICT;                                                   --@ sqlite

-- No index holds a column that changes, so that every update of a row stays within its page.
CREATE INDEX executions_parent ON executions (parent, id) WHERE parent IS NOT NULL;
CREATE INDEX executions_roots ON executions (id) WHERE parent IS NULL;

CREATE SEQUENCE execution_id;                               --@ postgres
CREATE TABLE counters (                                     --@ sqlite
    name TEXT PRIMARY KEY,                                  --@ sqlite
    value INTEGER NOT NULL                                  --@ sqlite
) STRICT, WITHOUT ROWID;                                    --@ sqlite
INSERT INTO counters VALUES ('execution_id', 0), ('event_floor', 0);   --@ sqlite

-- The same key gives the same execution; body is a hash of what was asked for.
CREATE TABLE submit_keys (
    key TEXT PRIMARY KEY,
    execution bigint NOT NULL,
    body bytea NOT NULL
);                                                          --@ postgres
) STRICT, WITHOUT ROWID;                                    --@ sqlite
CREATE INDEX submit_keys_execution ON submit_keys (execution);

-- What may be claimed now, and nothing else. rank = -priority.
CREATE TABLE task_outbox (
    lane TEXT NOT NULL,
    queue TEXT NOT NULL,
    rank INTEGER NOT NULL,
    execution bigint NOT NULL,
    ready_at timestamptz NOT NULL,
    concurrency TEXT,
    PRIMARY KEY (lane, queue, rank, execution)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,   --@ postgres
        autovacuum_vacuum_cost_delay = 0);                  --@ postgres
) STRICT, WITHOUT ROWID;                                    --@ sqlite
-- For the oldest wait of a queue, and only for that: the predicate, always true, keeps it from being taken
-- where the primary key is meant (with empty statistics it looks as good, and costs the whole queue).
CREATE INDEX task_outbox_wait ON task_outbox (queue, ready_at)
    WHERE ready_at > '1970-01-01Z';                         --@ postgres
    WHERE ready_at > 0;                                     --@ sqlite
CREATE INDEX task_outbox_concurrency ON task_outbox (concurrency) WHERE concurrency IS NOT NULL;

-- One row iff running. worker and until are both null for an orphan, which waits to be adopted;
-- folder and expired_at then tell who held it last, and until when.
CREATE TABLE leases (
    execution bigint PRIMARY KEY,
    worker bigint,
    until timestamptz,
    expired_at timestamptz,
    epoch INTEGER NOT NULL,
    folder TEXT
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02,      --@ postgres
        autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);   --@ postgres
) STRICT;                                                   --@ sqlite

CREATE TABLE timers (
    due_at timestamptz NOT NULL,
    execution bigint NOT NULL,
    kind smallint NOT NULL,
    PRIMARY KEY (due_at, execution, kind)
);                                                          --@ postgres
) STRICT, WITHOUT ROWID;                                    --@ sqlite
CREATE INDEX timers_execution ON timers (execution);

-- A limit's permits: used = its jobs that are claimable or running. limit_waits are those held for one.
CREATE TABLE limits (
    key TEXT PRIMARY KEY,
    max INTEGER NOT NULL,
    used INTEGER NOT NULL
) WITH (fillfactor = 50);                                   --@ postgres
) STRICT, WITHOUT ROWID;                                    --@ sqlite
CREATE TABLE limit_waits (
    key TEXT NOT NULL,
    rank INTEGER NOT NULL,
    execution bigint NOT NULL,
    PRIMARY KEY (key, rank, execution)
);                                                          --@ postgres
) STRICT, WITHOUT ROWID;                                    --@ sqlite

CREATE TABLE workers (
    id bigint PRIMARY KEY,
    started_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL,
    pid INTEGER NOT NULL,
    room INTEGER NOT NULL,
    host TEXT NOT NULL,
    folder TEXT NOT NULL,
    version TEXT NOT NULL
) WITH (fillfactor = 50);                                   --@ postgres
) STRICT;                                                   --@ sqlite

-- One row per write connection: the number of its last turn, read back when the answer to COMMIT is lost.
CREATE TABLE turns (
    writer bigint PRIMARY KEY,
    turn bigint NOT NULL,
    at timestamptz NOT NULL
) WITH (fillfactor = 50);                                   --@ postgres
) STRICT;                                                   --@ sqlite

-- Jobs by queue, as sums of what each write connection changed: a depth without a count, and no
-- connection waits for another's row. A single row may be negative.
CREATE TABLE queue_counters (
    queue TEXT NOT NULL,
    writer bigint NOT NULL,
    ready bigint NOT NULL,
    held bigint NOT NULL,
    running bigint NOT NULL,
    PRIMARY KEY (queue, writer)
) WITH (fillfactor = 50);                                   --@ postgres
) STRICT, WITHOUT ROWID;                                    --@ sqlite

CREATE INDEX queue_counters_writer ON queue_counters (writer); -- for folding those of silent ones

CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);                                                          --@ postgres
) STRICT, WITHOUT ROWID;                                    --@ sqlite

CREATE TABLE clock (                                        --@ sqlite
    id INTEGER PRIMARY KEY CHECK (id = 1),                  --@ sqlite
    boot_id TEXT NOT NULL,                                  --@ sqlite
    offset_us INTEGER NOT NULL                              --@ sqlite
) STRICT;                                                   --@ sqlite

-- History. On PostgreSQL partitioned by root: ids rise with time, so old trees share old partitions,
-- which are dropped whole. On SQLite sequence_num is the rowid: no second index.
CREATE SEQUENCE event_sequence;                             --@ postgres
CREATE TABLE execution_events (
    sequence_num bigint NOT NULL,                           --@ postgres
    sequence_num INTEGER PRIMARY KEY,                       --@ sqlite
    root bigint NOT NULL,
    execution bigint NOT NULL,
    created_at timestamptz NOT NULL,
    worker bigint,
    seq INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    type smallint NOT NULL,
    from_status smallint NOT NULL,
    to_status smallint NOT NULL,
    data TEXT
    , PRIMARY KEY (root, execution, seq)                    --@ postgres
) PARTITION BY RANGE (root);                                --@ postgres
) STRICT;                                                   --@ sqlite
CREATE UNIQUE INDEX execution_events_tree ON execution_events (root, execution, seq);   --@ sqlite
CREATE INDEX execution_events_order ON execution_events                       --@ postgres
    USING brin (sequence_num, created_at) WITH (pages_per_range = 32);        --@ postgres
-- retry_scheduled, failed, timed_out, abandoned; failed and timed_out of flows. (An IN list would be
-- built anew for every row that SQLite inserts: 5 µs an event instead of 2.)
CREATE INDEX execution_events_failures ON execution_events (created_at)
    WHERE type = EV_RETRY_SCHEDULED OR type = EV_FAILED OR type = EV_TIMED_OUT OR type = EV_ABANDONED OR type = WORKFLOW_EV_FAILED OR type = WORKFLOW_EV_TIMED_OUT;

-- Append-only: nothing is updated, and only retention deletes, which says so in its own transaction.
CREATE TRIGGER execution_events_no_update BEFORE UPDATE ON execution_events            --@ sqlite
BEGIN SELECT RAISE(ABORT, 'execution_events is append-only: nothing may be updated'); END;   --@ sqlite
CREATE TRIGGER execution_events_no_delete BEFORE DELETE ON execution_events            --@ sqlite
WHEN NOT EXISTS (SELECT 1 FROM settings WHERE name = 'retention' AND value = 'on')     --@ sqlite
BEGIN SELECT RAISE(ABORT, 'execution_events is append-only: only retention deletes'); END;   --@ sqlite

CREATE FUNCTION execution_events_guard() RETURNS trigger LANGUAGE plpgsql AS $$        --@ postgres
BEGIN                                                                                  --@ postgres
    IF TG_OP = 'DELETE' AND current_setting('pawl.retention', true) = 'on' THEN        --@ postgres
        RETURN OLD;                                                                    --@ postgres
    END IF;                                                                            --@ postgres
    RAISE EXCEPTION 'execution_events is append-only: only retention deletes';         --@ postgres
END $$;                                                                                --@ postgres
CREATE TRIGGER execution_events_guard BEFORE UPDATE OR DELETE ON execution_events      --@ postgres
    FOR EACH ROW EXECUTE FUNCTION execution_events_guard();                            --@ postgres
CREATE TRIGGER execution_events_no_truncate BEFORE TRUNCATE ON execution_events        --@ postgres
    FOR EACH STATEMENT EXECUTE FUNCTION execution_events_guard();                      --@ postgres

-- Makes the partitions for roots up to `wanted` and two ahead; returns the first root without one.
-- Attaching a finished table, unlike CREATE … PARTITION OF, does not wait for running turns.
CREATE FUNCTION make_event_partitions(wanted bigint) RETURNS bigint LANGUAGE plpgsql AS $$   --@ postgres
DECLARE                                                                                --@ postgres
    span CONSTANT bigint := 1000000;                                                   --@ postgres
    lo bigint;                                                                         --@ postgres
    part text;                                                                         --@ postgres
BEGIN                                                                                  --@ postgres
    PERFORM pg_advisory_xact_lock(hashtext(current_schema() || '.event_partitions'));  --@ postgres
    FOR i IN wanted / span .. wanted / span + 2 LOOP                                   --@ postgres
        lo := i * span;                                                                --@ postgres
        part := 'execution_events_' || i;                                              --@ postgres
        CONTINUE WHEN to_regclass(quote_ident(part)) IS NOT NULL;                      --@ postgres
        -- A vacuum after so many inserts keeps the BRIN index summarised. (autosummarize asks for it every 32     --@ postgres
        -- pages, and the server logs each request that it has no room for.)           --@ postgres
        EXECUTE format('CREATE TABLE %I (LIKE execution_events INCLUDING DEFAULTS) WITH'   --@ postgres
                       ' (autovacuum_vacuum_insert_scale_factor = 0,'                  --@ postgres
                       ' autovacuum_vacuum_insert_threshold = 200000)', part);         --@ postgres
        EXECUTE format('ALTER TABLE execution_events ATTACH PARTITION %I'              --@ postgres
                       ' FOR VALUES FROM (%s) TO (%s)', part, lo, lo + span);          --@ postgres
        EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON %I'              --@ postgres
                       ' FOR EACH STATEMENT EXECUTE FUNCTION execution_events_guard()', part);   --@ postgres
    END LOOP;                                                                          --@ postgres
    RETURN (wanted / span + 3) * span;                                                 --@ postgres
END $$;                                                                                --@ postgres
SELECT make_event_partitions(0);                                                       --@ postgres

-- Drops partitions that lie wholly before `horizon` and whose trees are all gone; returns how many.
CREATE FUNCTION drop_event_partitions(horizon bigint) RETURNS bigint LANGUAGE plpgsql AS $$   --@ postgres
DECLARE                                                                                --@ postgres
    span CONSTANT bigint := 1000000;                                                   --@ postgres
    part regclass;                                                                     --@ postgres
    lo bigint;                                                                         --@ postgres
    n bigint := 0;                                                                     --@ postgres
    one bigint;                                                                        --@ postgres
BEGIN                                                                                  --@ postgres
    FOR part IN SELECT inhrelid::regclass FROM pg_inherits                             --@ postgres
                 WHERE inhparent = 'execution_events'::regclass LOOP                   --@ postgres
        lo := substring(part::text FROM '([0-9]+)"?$')::bigint * span;                 --@ postgres
        CONTINUE WHEN lo + span > horizon;                                             --@ postgres
        PERFORM 1 FROM executions WHERE id >= lo AND id < lo + span AND parent IS NULL LIMIT 1;   --@ postgres
        CONTINUE WHEN FOUND;                                                           --@ postgres
        EXECUTE format('SELECT 1 FROM %s LIMIT 1', part) INTO one;                     --@ postgres
        CONTINUE WHEN one IS NOT NULL;                                                 --@ postgres
        EXECUTE format('DROP TABLE %s', part);                                         --@ postgres
        n := n + 1;                                                                    --@ postgres
    END LOOP;                                                                          --@ postgres
    RETURN n;                                                                          --@ postgres
END $$;                                                                                --@ postgres

-- Jobs in the words of a queue: one row per job, its status the execution's own.
CREATE VIEW jobs AS
SELECT e.id,
       e.id AS run_id,
       CASE e.status WHEN S_PENDING THEN 'pending' WHEN S_READY THEN 'queued' WHEN S_RUNNING THEN 'running' WHEN S_SUCCEEDED THEN 'succeeded'
                     WHEN S_FAILED THEN 'failed' WHEN S_TIMED_OUT THEN 'timed_out' WHEN S_CANCELLED THEN 'cancelled' ELSE 'skipped' END AS status,
       e.queue, e.priority, e.attempts, e.max_attempts,
       COALESCE((SELECT min(t.due_at) FROM timers t WHERE t.execution = e.id), e.requested_at) AS available_at,
       l.worker AS locked_by, l.until AS locked_until,
       e.error AS last_error,
       e.requested_at AS created_at, e.updated_at, e.started_at, e.finished_at
  FROM executions e LEFT JOIN leases l ON l.execution = e.id
 WHERE e.kind IN (KIND_TASK, KIND_EXEC);
