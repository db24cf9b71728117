-- A worker that an operator asked to drain: it claims nothing more, finishes the jobs that it runs, and ends. Null if nobody
-- asked. A worker of an older version does not read these columns and continues to claim, so it need not end.
ALTER TABLE workers ADD COLUMN drain_requested_at timestamptz;
ALTER TABLE workers ADD COLUMN drain_requested_by TEXT;
ALTER TABLE workers ADD COLUMN drain_reason TEXT;
