-- SQL submissions (ops/sql_submissions.c, query/submissions.c).

-- Waiting submissions, the oldest first; skips those that another engine has locked. The last column is 1 if there is
-- no partition for the events of this id, because the submitting transaction was open for a long time.
--= waiting s.id, s.requested_at, s.delay, s.priority, s.definition, s.params, s.queue, s.key, s.requested_by, s.workflow,
--=+       CASE WHEN to_regclass('execution_events_' || s.id / 1000000) IS NULL THEN 1 ELSE 0 END            --@ postgres
--=+       0                                                                                                 --@ sqlite
--: submissions_waiting(n i64)
SELECT @waiting@
  FROM submissions s
 WHERE s.execution IS NULL AND s.error IS NULL
 ORDER BY s.id LIMIT $1
   FOR UPDATE SKIP LOCKED                                                                  --@ postgres

-- One waiting submission. If an engine has locked it, waits until that engine's transaction ends.
--: submission_waiting(id i64)
SELECT @waiting@
  FROM submissions s
 WHERE s.id = $1 AND s.execution IS NULL AND s.error IS NULL
   FOR UPDATE                                                                              --@ postgres

-- The COALESCE keeps PostgreSQL from scanning the partial index of all waiting submissions.
--: submissions_decide(at time; id i64, execution i64, error text)
UPDATE submissions AS s
   SET execution = u.execution, error = u.error, decided_at = $1                           --@ postgres
  FROM @rows@ AS u WHERE s.id = ANY (ARRAY[u.id]) AND COALESCE(CAST(s.execution AS text), s.error) IS NULL   --@ postgres
   SET execution = $3, error = $4, decided_at = $1                                         --@ sqlite
 WHERE id = $2 AND execution IS NULL AND error IS NULL                                     --@ sqlite

-- ---- retention: deletes taken submissions with their executions, and refused ones by age

--: submissions_delete(; execution i64)
DELETE FROM submissions AS s @given@ WHERE s.execution = ANY (:execution)

--: submissions_delete_refused(before time, n i64)
DELETE FROM submissions WHERE id IN (
    SELECT s.id FROM submissions s WHERE s.error IS NOT NULL AND s.decided_at < $1 LIMIT $2)
RETURNING id

-- ---- read

--= submission s.id, s.requested_at, s.decided_at, s.execution, s.delay, s.priority, s.workflow, s.definition, s.params,
--=+           s.queue, s.key, s.requested_by, s.error, s.source

--: query_submission(id i64)
SELECT @submission@ FROM submissions s WHERE s.id = $1

--: query_submissions(id i64, n i64)
SELECT @submission@ FROM submissions s WHERE s.id < $1 ORDER BY s.id DESC LIMIT $2

--: query_submissions_waiting(id i64, n i64)
SELECT @submission@ FROM submissions s WHERE s.execution IS NULL AND s.error IS NULL AND s.id > $1 ORDER BY s.id LIMIT $2

--: query_submissions_taken(execution i64, id i64, n i64)
SELECT @submission@ FROM submissions s
 WHERE s.execution IS NOT NULL AND s.execution <= $1 AND (s.execution < $1 OR s.id < $2)
 ORDER BY s.execution DESC, s.id DESC LIMIT $3

-- One transaction refuses several at the same time.
--: query_submissions_refused(at time, id i64, n i64)
SELECT @submission@ FROM submissions s
 WHERE s.error IS NOT NULL AND s.decided_at <= $1 AND (s.decided_at < $1 OR s.id < $2)
 ORDER BY s.decided_at DESC, s.id DESC LIMIT $3

-- How many submissions wait and how many were refused, each counted up to $1, and since when the oldest one waits.
--: query_submission_totals(most i64)
SELECT (SELECT count(*) FROM (SELECT s.id FROM submissions s WHERE s.execution IS NULL AND s.error IS NULL
                               ORDER BY s.id LIMIT $1) AS waiting),
       (SELECT count(*) FROM (SELECT s.id FROM submissions s WHERE s.error IS NOT NULL
                               ORDER BY s.decided_at LIMIT $1) AS refused),
       (SELECT s.requested_at FROM submissions s WHERE s.execution IS NULL AND s.error IS NULL ORDER BY s.id LIMIT 1)
