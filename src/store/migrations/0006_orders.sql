-- What people asked of a queue or a schedule as a whole: an execution has its events, these have their orders. subject:
-- "queue:NAME" or "schedule:WORKFLOW/NAME". action: core/vocab.h. data: JSON, {"limit": 2} of a limit that was set.
-- Rows go with retention.
CREATE TABLE operator_orders (
    subject TEXT NOT NULL,
    seq bigint NOT NULL,
    made_at timestamptz NOT NULL,
    action smallint NOT NULL,
    made_by TEXT,
    reason TEXT,
    data TEXT,
    PRIMARY KEY (subject, seq)
);                                                          --@ postgres
) STRICT, WITHOUT ROWID;                                    --@ sqlite
CREATE INDEX operator_orders_age ON operator_orders (made_at);
