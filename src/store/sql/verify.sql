-- The invariants (verify/verify.h). Each statement checks one invariant, or several that share a pass over a large table.
-- It returns violations as (code, execution, detail), at most $1 rows for each code; a correct database returns no row.
-- A check starts with --! (tools/sqlgen.awk). verify.c replaces {status:3}, {event:14}, {hold:2} in a detail by words of the
-- vocabulary.

-- The end of each statement that has checks: the first $1 rows of each code.
--= report SELECT code, execution, detail
--=+       FROM (SELECT b.*, row_number() OVER (PARTITION BY code ORDER BY execution, detail) AS n FROM violations b) AS numbered
--=+       WHERE n <= $1 ORDER BY code, execution, detail

-- Verify uses its own settings on PostgreSQL; they end with the transaction. Statements that read whole tables need
-- sequential scans, hash joins and merge joins ($1 = on); the walk through the history must read its pages by index,
-- whatever the statistics say ($1 = off).
--: verify_settings(whole_tables text)
SELECT set_config('enable_seqscan', $1, true), set_config('enable_hashjoin', $1, true),      --@ postgres
       set_config('enable_mergejoin', $1, true), set_config('plan_cache_mode', 'auto', true),   --@ postgres
       set_config('work_mem', '64MB', true), set_config('statement_timeout', '0', true),     --@ postgres
       set_config('idle_in_transaction_session_timeout', '10min', true)                      --@ postgres
SELECT $1                                                                                    --@ sqlite

--: verify_counts()
SELECT (SELECT count(*) FROM executions), (SELECT count(*) FROM execution_events)

-- The distinct moves, which verify.c compares with the table of legal moves (I05). DISTINCT, because without an index
-- SQLite sorts all rows for GROUP BY.
--: verify_moves()
SELECT DISTINCT type, from_status, to_status FROM execution_events

--: verify_move_examples(max i64, type i64, from_status i64, to_status i64)
SELECT execution, seq FROM execution_events
 WHERE type = $2 AND from_status = $3 AND to_status = $4
 ORDER BY execution, seq LIMIT $1

-- Compares each event with the one before it. One pass with lag() is cheapest on PostgreSQL, an index probe on SQLite.
-- An event after a gap has no event before it and is not compared: the gap itself violates I02.
--: verify_steps(max i64)
WITH pairs AS NOT MATERIALIZED (
    SELECT v.execution, v.seq, v.type, v.from_status, v.to_status, v.epoch, v.created_at,
           lag(v.seq) OVER w AS before_seq, lag(v.to_status) OVER w AS before_to,                     --@ postgres
           lag(v.epoch) OVER w AS before_epoch, lag(v.created_at) OVER w AS before_at                 --@ postgres
      FROM execution_events v WINDOW w AS (PARTITION BY v.root, v.execution ORDER BY v.seq)           --@ postgres
           p.seq AS before_seq, p.to_status AS before_to,                                             --@ sqlite
           p.epoch AS before_epoch, p.created_at AS before_at                                         --@ sqlite
      FROM execution_events v                                                                         --@ sqlite
      LEFT JOIN execution_events p ON p.root = v.root AND p.execution = v.execution AND p.seq = v.seq - 1   --@ sqlite
), checked AS NOT MATERIALIZED (
    SELECT p.*,
           before_seq = seq - 1 AND from_status <> before_to AS i04,
           before_seq = seq - 1 AND before_to >= 4 AND type NOT IN (EV_RERUN, WORKFLOW_EV_RERUN) AS i07,
           before_seq = seq - 1 AND created_at < before_at AS i09,
           CASE WHEN seq = 1 THEN epoch <> 0
                WHEN before_seq = seq - 1
                THEN epoch <> before_epoch + CASE WHEN type IN (EV_CLAIMED, EV_RESUMED, EV_ADOPTED) THEN 1 ELSE 0 END
                ELSE 1 = 0 END AS i24
      FROM pairs p
), suspects AS MATERIALIZED (
    SELECT * FROM checked WHERE i04 OR i07 OR i09 OR i24
)
--! I04 execution, 'event ' || seq || ' starts from {status:' || from_status || '}, but the previous event set {status:'
           || before_to || '}' FROM suspects WHERE i04
--! I07 execution, 'event ' || seq || ', {event:' || type || '}, follows the terminal status {status:' || before_to || '}'
      FROM suspects WHERE i07
--! I09 execution, 'event ' || seq || ' is older than the previous event' FROM suspects WHERE i09
--! I24 execution, 'event ' || seq || ', {event:' || type || '}, has epoch ' || epoch || ' after epoch '
           || COALESCE(before_epoch, 0) FROM suspects WHERE i24

-- Events that end an attempt, a workflow or a fan-out with a failure, or a job with a success (check_outcome in verify/verify.c).
--: verify_outcomes(root i64, execution i64, seq i32)
SELECT v.root, v.execution, v.seq, v.type, v.to_status, v.data FROM execution_events v
 WHERE (v.root, v.execution, v.seq) > ($1, $2, $3)
   AND v.root >= $1                                                                        --@ postgres
   AND (v.type IN (EV_RETRY_SCHEDULED, EV_FAILED, EV_TIMED_OUT, EV_ABANDONED, WORKFLOW_EV_FAILED, WORKFLOW_EV_TIMED_OUT)
        OR (v.type < WORKFLOW_EVENT AND v.type <> EV_REUSED AND v.to_status = S_SUCCEEDED AND v.from_status < S_SUCCEEDED))
 ORDER BY v.root, v.execution, v.seq LIMIT 1000

-- Aggregates of all events of an execution. verify_last reports an execution without events (I01).
--: verify_sums(max i64)
WITH sums AS NOT MATERIALIZED (
    SELECT root, execution, count(*) AS n, min(seq) AS lowest, max(seq) AS highest,
           min(CASE WHEN type IN (EV_CREATED, WORKFLOW_EV_CREATED) THEN seq END) AS created,
           min(type) AS lowest_type, max(type) AS highest_type,
           sum(CASE WHEN type IN (EV_CLAIMED, EV_RESUMED) THEN 1 ELSE 0 END) AS claims,
           sum(CASE WHEN type = EV_ADOPTED THEN 1 ELSE 0 END) AS adoptions,
           sum(CASE WHEN type = WORKFLOW_EV_STARTED THEN 1 ELSE 0 END) AS flow_starts,
           sum(CASE WHEN to_status >= S_SUCCEEDED AND from_status < S_SUCCEEDED THEN 1 ELSE 0 END) AS ends,
           sum(CASE WHEN type IN (EV_RERUN, WORKFLOW_EV_RERUN) THEN 1 ELSE 0 END) AS reruns
      FROM execution_events GROUP BY root, execution
), checked AS NOT MATERIALIZED (
    SELECT s.*, e.seq, e.kind, e.attempts, e.epoch, e.started_at,
           s.n <> e.seq AS i01,
           e.id IS NOT NULL AND (s.lowest <> 1 OR s.highest <> s.n) AS i02,
           e.id IS NOT NULL AND COALESCE(s.created, 0) <> s.lowest AS i03,
           (e.kind <= KIND_EXEC) <> (s.highest_type <= WORKFLOW_EVENT) OR (e.kind <= KIND_EXEC) <> (s.lowest_type <= WORKFLOW_EVENT) AS i05,
           e.id IS NOT NULL AND s.ends > 1 + s.reruns AS i08,
           e.id IS NOT NULL AND (e.started_at IS NOT NULL) <> (s.claims + s.flow_starts > 0) AS i12,
           e.attempts <> s.claims AS i15,
           e.epoch <> s.claims + s.adoptions AS i23,
           e.id IS NULL AS i41
      FROM sums s LEFT JOIN executions e ON e.id = s.execution AND e.root = s.root
), suspects AS MATERIALIZED (
    SELECT * FROM checked WHERE i01 OR i02 OR i03 OR i05 OR i08 OR i12 OR i15 OR i23 OR i41
)
--! I01 execution, 'its seq is ' || seq || ', but it has ' || n || ' events' FROM suspects WHERE i01
--! I02 execution, 'its ' || n || ' events are numbered from ' || lowest || ' to ' || highest FROM suspects WHERE i02
--! I03 execution, 'its first event is not created' FROM suspects WHERE i03
--! I05 execution, 'a ' || CASE WHEN kind <= KIND_EXEC THEN 'job' ELSE 'workflow' END || ' has events of a '
           || CASE WHEN kind <= KIND_EXEC THEN 'workflow' ELSE 'job' END FROM suspects WHERE i05
--! I08 execution, 'it ended ' || ends || ' times with ' || reruns || ' reruns' FROM suspects WHERE i08
--! I12 execution, CASE WHEN started_at IS NULL THEN 'it has no started_at, but was started'
           ELSE 'it has started_at, but was never started' END FROM suspects WHERE i12
--! I15 execution, 'it has ' || attempts || ' attempts, but was claimed ' || claims || ' times' FROM suspects WHERE i15
--! I23 execution, 'its epoch is ' || epoch || ', but it was claimed ' || claims || ' and adopted ' || adoptions
           || ' times' FROM suspects WHERE i23
--! I41 execution, n || ' events of tree ' || root || ' belong to an execution that does not exist' FROM suspects WHERE i41

-- Compares each execution with its last event.
--: verify_last(max i64)
WITH checked AS NOT MATERIALIZED (
    SELECT e.id, e.root, e.status, e.seq, e.attempts, e.epoch, v.to_status, v.attempt, v.epoch AS last_epoch,
           v.seq IS NULL AS i01,
           v.to_status <> e.status AS i06,
           e.kind <= KIND_EXEC AND e.status = S_SUCCEEDED AND v.type = EV_COMPLETED AND v.attempt <> e.attempts AS i16_attempt,
           e.kind <= KIND_EXEC AND e.status <> S_SUCCEEDED AND e.result IS NOT NULL AS i16_result,
           e.status >= S_SUCCEEDED AND v.epoch <> e.epoch AS i25
      FROM executions e
      LEFT JOIN execution_events v ON v.root = e.root AND v.execution = e.id AND v.seq = e.seq
), suspects AS MATERIALIZED (
    SELECT * FROM checked WHERE i01 OR i06 OR i16_attempt OR i16_result OR i25
)
--! I01 id, 'its seq is ' || seq || ', but it has no events' FROM suspects s
     WHERE i01 AND NOT EXISTS (SELECT 1 FROM execution_events v WHERE v.root = s.root AND v.execution = s.id)
--! I06 id, 'it is {status:' || status || '}, but its last event set {status:' || to_status || '}'
      FROM suspects WHERE i06
--! I16 id, 'it succeeded in attempt ' || attempt || ' of ' || attempts FROM suspects WHERE i16_attempt
--! I16 id, 'it has a result, but is {status:' || status || '}' FROM suspects WHERE i16_result
--! I25 id, 'its epoch is ' || epoch || ', but it ended with epoch ' || last_epoch FROM suspects WHERE i25

--: verify_fields(max i64)
WITH checked AS NOT MATERIALIZED (
    SELECT id, status, attempts, max_attempts, finished_at,
           (finished_at IS NOT NULL) <> (status >= S_SUCCEEDED) AS i11,
           started_at < requested_at OR finished_at < requested_at OR finished_at < started_at AS i13,
           attempts < 0 OR attempts > max_attempts AS i14
      FROM executions
), suspects AS MATERIALIZED (
    SELECT * FROM checked WHERE i11 OR i13 OR i14
)
--! I11 id, CASE WHEN finished_at IS NULL THEN 'it has no finished_at, but is {status:'
           ELSE 'it has finished_at, but is {status:' END || status || '}' FROM suspects WHERE i11
--! I13 id, 'requested_at, started_at, finished_at are not in this order' FROM suspects WHERE i13
--! I14 id, 'it has ' || attempts || ' attempts of ' || max_attempts FROM suspects WHERE i14

-- The last event that gave or cleared a lease decides whether the lease should have a worker. An expired lease is a
-- violation only if some worker has run for more than two lease times, and was seen more than two lease times after the
-- expiry: otherwise no worker needs to have reaped it yet.
--: verify_leases(max i64, two_leases i64, furthest time)
WITH held AS MATERIALIZED (
    SELECT l.execution, l.worker, l.until, l.epoch, e.kind, e.status, e.epoch AS execution_epoch,
           (SELECT v.type FROM execution_events v
             WHERE v.root = e.root AND v.execution = e.id AND v.type IN (EV_CLAIMED, EV_RESUMED, EV_LEASE_EXPIRED, EV_ADOPTED)
             ORDER BY v.seq DESC LIMIT 1) AS last_type
      FROM leases l JOIN executions e ON e.id = l.execution
), watched(until) AS (
    SELECT max(seen_at - $2 * interval '1 microsecond') FROM workers             --@ postgres
     WHERE seen_at - $2 * interval '1 microsecond' > started_at                  --@ postgres
    SELECT max(seen_at - $2) FROM workers WHERE seen_at - $2 > started_at        --@ sqlite
)
--! I18 e.id, 'it is running, but has no lease' FROM executions e
     WHERE e.status = S_RUNNING AND e.kind <= KIND_EXEC AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.execution = e.id)
--! I18 execution, CASE WHEN kind <= KIND_EXEC THEN 'it has a lease, but is {status:' || status || '}'
           ELSE 'it has a lease, but is not a job' END FROM held WHERE NOT (kind <= KIND_EXEC AND status = S_RUNNING)
--! I19 execution, CASE WHEN worker IS NULL THEN 'its lease has an end, but no worker'
           ELSE 'its lease has a worker, but no end' END FROM held WHERE (worker IS NULL) <> (until IS NULL)
--! I20 execution, CASE WHEN worker IS NULL THEN 'no worker holds its lease'
           ELSE 'worker ' || worker || ' holds its lease' END || ', but the last event of its lease is {event:'
           || COALESCE(last_type, 0) || '}' FROM held WHERE (worker IS NULL) <> (COALESCE(last_type, 0) = 11)
--! I21 h.execution, 'its lease expired long ago, and no worker cleared it' FROM held h JOIN watched w ON h.until < w.until
--! I22 execution, 'its lease ends later than the longest lease allows' FROM held WHERE until > $3
--! I23 execution, 'its epoch is ' || execution_epoch || ', but its lease has ' || epoch FROM held
     WHERE epoch <> execution_epoch
--! I26 min(h.execution), 'worker ' || w.id || ' has claimed ' || count(*) || ' jobs, but its capacity is ' || (w.room + w.claim_ahead)
      FROM held h JOIN workers w ON w.id = h.worker WHERE h.last_type IN (EV_CLAIMED, EV_RESUMED)
     GROUP BY w.id, w.room, w.claim_ahead HAVING count(*) > w.room + w.claim_ahead

--: verify_outbox(max i64)
--! I27 e.id, 'it may be claimed, but has no outbox row' FROM executions e
     WHERE e.status = S_READY AND e.held = HELD_NONE AND e.kind <= KIND_EXEC
       AND NOT EXISTS (SELECT 1 FROM task_outbox o WHERE o.lane = e.lane AND o.queue = e.queue AND o.rank = -e.priority
                                                     AND o.execution = e.id)
--! I27 e.id, CASE WHEN e.kind > KIND_EXEC THEN 'it has an outbox row, but is not a job'
           WHEN e.status <> S_READY THEN 'it has an outbox row, but is {status:' || e.status || '}'
           WHEN e.held <> HELD_NONE THEN 'it has an outbox row, but is held: {hold:' || e.held || '}'
           ELSE 'its outbox row differs from the job: ' || o.lane || ', ' || o.queue || ', rank ' || o.rank || ', '
                || COALESCE(o.concurrency, 'no key') END
      FROM task_outbox o JOIN executions e ON e.id = o.execution
     WHERE e.kind > KIND_EXEC OR e.status <> S_READY OR e.held <> HELD_NONE OR o.lane <> COALESCE(e.lane, '') OR o.queue <> e.queue
        OR o.rank <> -e.priority OR COALESCE(o.concurrency, '') <> COALESCE(e.concurrency, '')

-- A pause or an approval does not end a delay, so the timer of the delay may exist during them.
--: verify_holds(max i64)
WITH kept AS MATERIALIZED (
    SELECT id, kind, status, held, held_key, priority FROM executions WHERE held <> HELD_NONE OR held_key IS NOT NULL
)
--! I28 id, 'it is held ({hold:' || held || '}), but is {status:' || status || '}' FROM kept
     WHERE held <> HELD_NONE AND status <> CASE WHEN kind <= KIND_EXEC THEN S_READY ELSE S_PENDING END
--! I28 id, 'it has an unknown hold: ' || held FROM kept WHERE held NOT BETWEEN HELD_NONE AND HELD_LIMIT
--! I28 id, CASE WHEN held = HELD_LIMIT THEN 'it is held for a limit, but names none'
           ELSE 'it names the limit ' || held_key || ', but is not held for it' END
      FROM kept WHERE (held = HELD_LIMIT) <> (held_key IS NOT NULL)
--! I28 id, 'it is held for a delay, but no timer ends it' FROM kept k
     WHERE held = HELD_DELAY AND NOT EXISTS (SELECT 1 FROM timers t WHERE t.execution = k.id AND t.kind = TIMER_DELAY)
--! I28 id, 'it is held for ' || held_key || ', which does not exist' FROM kept k
     WHERE held = HELD_LIMIT AND held_key IS NOT NULL AND NOT EXISTS (SELECT 1 FROM limits l WHERE l.key = k.held_key)
--! I28 id, 'it is held for ' || held_key || ', but has no row in limit_waits' FROM kept k
     WHERE held = HELD_LIMIT AND held_key IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM limit_waits w WHERE w.key = k.held_key AND w.rank = -k.priority AND w.execution = k.id)
--! I28 e.id, 'it has a delay timer, but no hold that allows one' FROM timers t
      JOIN executions e ON e.id = t.execution WHERE t.kind = TIMER_DELAY AND e.held NOT IN (HELD_APPROVAL, HELD_PAUSED, HELD_DELAY)

-- An execution that is held for a pause must be paused (FLAG_PAUSED) or have a paused ancestor, and nothing in the
-- subtree of a paused execution may start, unless a timer still has to apply the pause, or its end (FLAG_RELEASING), to
-- that tree.
--: verify_pauses(max i64)
WITH RECURSIVE paused AS MATERIALIZED (
    SELECT id, root, kind, status, held FROM executions WHERE flags & FLAG_PAUSED <> 0 AND status < S_SUCCEEDED
), below(id, root, kind, status, held) AS (
    SELECT id, root, kind, status, held FROM paused
    UNION
    SELECT c.id, c.root, c.kind, c.status, c.held FROM below t @children_of_t@
), in_progress(root) AS MATERIALIZED (
    SELECT p.root FROM timers t JOIN executions p ON p.id = t.execution
     WHERE t.kind = TIMER_CONTINUE AND p.flags & (FLAG_PAUSED | FLAG_RELEASING) <> 0 AND p.status < S_SUCCEEDED
)
--! I28 id, 'it is held for a pause, but neither it nor an ancestor is paused' FROM executions
     WHERE held = HELD_PAUSED AND status < S_SUCCEEDED AND id NOT IN (SELECT b.id FROM below b) AND root NOT IN (SELECT c.root FROM in_progress c)
--! I28 id, 'it may start, but it or an ancestor is paused' FROM below
     WHERE ((kind <= KIND_EXEC AND status = S_READY AND held IN (HELD_NONE, HELD_DELAY, HELD_LIMIT)) OR (kind > KIND_EXEC AND status = S_PENDING AND held IN (HELD_DELAY, HELD_LIMIT)))
       AND root NOT IN (SELECT c.root FROM in_progress c)

-- A permit may be free while executions wait if a handover timer will offer it. The execution of that timer only
-- identifies the limit and may have ended.
--: verify_limits(max i64)
WITH live AS NOT MATERIALIZED (
    SELECT queue, concurrency, flags & FLAG_CAPPED AS capped, sum(CASE WHEN held = HELD_NONE THEN 1 ELSE 0 END) AS permits,
           sum(CASE WHEN status = S_READY AND held = HELD_NONE THEN 1 ELSE 0 END) AS claimable, min(id) AS example
      FROM executions WHERE kind <= KIND_EXEC AND status IN (S_READY, S_RUNNING) GROUP BY queue, concurrency, flags & FLAG_CAPPED
), spent AS MATERIALIZED (
    SELECT key, sum(permits) AS permits, sum(claimable) AS claimable, min(example) AS example
      FROM (SELECT 'queue:' || queue AS key, permits, claimable, example FROM live
            UNION ALL
            SELECT 'key:' || concurrency, permits, claimable, example FROM live WHERE concurrency IS NOT NULL
            UNION ALL
            SELECT 'key:pawl:here', permits, claimable, example FROM live
             WHERE capped <> 0 AND COALESCE(concurrency, '') <> 'pawl:here'
            UNION ALL
            SELECT 'key:' || concurrency, count(*), 0, min(id) FROM executions
             WHERE kind = KIND_WORKFLOW AND status = S_RUNNING AND concurrency IS NOT NULL GROUP BY concurrency) AS all_limits
     GROUP BY key
), offers(key) AS MATERIALIZED (
    SELECT 'queue:' || e.queue FROM timers t JOIN executions e ON e.id = t.execution WHERE t.kind = TIMER_HANDOVER
    UNION
    SELECT 'key:' || e.concurrency FROM timers t JOIN executions e ON e.id = t.execution WHERE t.kind = TIMER_HANDOVER
    UNION
    SELECT 'key:pawl:here' FROM timers t JOIN executions e ON e.id = t.execution
     WHERE t.kind = TIMER_HANDOVER AND e.flags & FLAG_CAPPED <> 0
)
--! I29 0, l.key || ' counts ' || l.used || ' permits in use, but ' || COALESCE(s.permits, 0) || ' are'
      FROM limits l LEFT JOIN spent s ON s.key = l.key WHERE l.used <> COALESCE(s.permits, 0)
--! I29 s.example, l.key || ' is exceeded (' || l.used || ' of ' || l.max || '), but ' || s.claimable || ' jobs may be claimed'
      FROM limits l JOIN spent s ON s.key = l.key WHERE l.used > l.max AND s.claimable > 0
--! I29 s.example, s.key || ' is used by jobs, but the limit does not exist' FROM spent s
     WHERE s.key LIKE 'key:%' AND NOT EXISTS (SELECT 1 FROM limits l WHERE l.key = s.key)
--! I29 (SELECT min(w.execution) FROM limit_waits w WHERE w.key = l.key),
           l.key || ' has free permits (' || l.used || ' of ' || l.max || ' in use), but jobs wait for it' FROM limits l
     WHERE l.used < l.max AND EXISTS (SELECT 1 FROM limit_waits w WHERE w.key = l.key)
       AND NOT EXISTS (SELECT 1 FROM offers o WHERE o.key = l.key)
--! I29 e.id, 'it waits for ' || w.key || ' at rank ' || w.rank || ', but is not held for that'
      FROM limit_waits w JOIN executions e ON e.id = w.execution
     WHERE e.held <> HELD_LIMIT OR COALESCE(e.held_key, '') <> w.key OR w.rank <> -e.priority

-- The counters of attempts differ from those of queues in that all foreground queues count as one; see door/attempts.c.
--: verify_counters(max i64)
WITH jobs AS MATERIALIZED (
    SELECT queue, lane, status, held FROM executions WHERE kind <= KIND_EXEC AND status IN (S_READY, S_RUNNING)
), both_sums AS (
    SELECT queue, sum(ready) AS ready, sum(held) AS held, sum(running) AS running, 0 AS is_ready, 0 AS is_held, 0 AS is_running
      FROM queue_counters GROUP BY queue
    UNION ALL
    SELECT queue, 0, 0, 0, sum(CASE WHEN status = S_READY AND held = HELD_NONE THEN 1 ELSE 0 END),
           sum(CASE WHEN status = S_READY AND held <> HELD_NONE THEN 1 ELSE 0 END), sum(CASE WHEN status = S_RUNNING THEN 1 ELSE 0 END)
      FROM jobs GROUP BY queue
), sums AS NOT MATERIALIZED (
    SELECT queue, sum(ready) AS ready, sum(held) AS held, sum(running) AS running,
           sum(is_ready) AS is_ready, sum(is_held) AS is_held, sum(is_running) AS is_running
      FROM both_sums GROUP BY queue
), both_attempts AS (
    SELECT queue, executor, CASE WHEN outcome = 0 THEN n ELSE -n END AS n, 0 AS running
      FROM attempt_counters WHERE outcome <> 0 OR type IN (EV_CLAIMED, EV_RESUMED)
    UNION ALL
    SELECT CASE WHEN queue LIKE 'here:%' THEN 'here' ELSE queue END,
           CASE WHEN lane LIKE 'function:%' THEN 'function' ELSE lane END, 0, 1 FROM jobs WHERE status = S_RUNNING
), attempts AS NOT MATERIALIZED (
    SELECT queue, executor, sum(n) AS n, sum(running) AS running FROM both_attempts GROUP BY queue, executor
)
--! I40 0, 'the counters of queue ' || queue || ' are ' || ready || ' ready, ' || held || ' held, ' || running
           || ' running, but its jobs are ' || is_ready || ', ' || is_held || ', ' || is_running
      FROM sums WHERE ready <> is_ready OR held <> is_held OR running <> is_running
--! I40 0, 'queue ' || queue || ', executor ' || executor || ': claims and outcomes differ by ' || n || ', but '
           || running || ' jobs run' FROM attempts WHERE n <> running

-- Rows whose execution does not exist; verify_sums checks events.
--= has_no_execution WHERE NOT EXISTS (SELECT 1 FROM executions e WHERE e.id = r.execution)

--: verify_strays(max i64)
--! I41 execution, 'it has an outbox row, but does not exist' FROM task_outbox r @has_no_execution@
--! I41 execution, 'it has a lease, but does not exist' FROM leases r @has_no_execution@
--! I41 execution, 'it has a timer ({timer:' || kind || '}), but does not exist' FROM timers r @has_no_execution@
--! I41 execution, 'it waits for ' || key || ', but does not exist' FROM limit_waits r @has_no_execution@
--! I41 execution, 'it has the state of a workflow, but does not exist' FROM workflow_executions r @has_no_execution@
--! I41 execution, 'it has the key of a submission, but does not exist' FROM submit_keys r @has_no_execution@
--! I41 execution, 'it has the log of attempt ' || attempt || ', but does not exist'
      FROM (SELECT DISTINCT execution, attempt FROM attempt_logs) AS r @has_no_execution@

-- Late chunks of a lower epoch may remain from the time of an adoption; they may have gaps.
--: verify_logs(max i64)
WITH chunks AS NOT MATERIALIZED (
    SELECT execution, attempt, epoch, start, raw, dropped, packed, length(data) AS stored,
           lag(start + raw) OVER w AS end_before, lag(dropped) OVER w AS dropped_before
      FROM attempt_logs WINDOW w AS (PARTITION BY execution, attempt, epoch ORDER BY start)
), checked AS NOT MATERIALIZED (
    SELECT c.*, e.attempts, e.epoch AS last_epoch,
           c.attempt < 1 OR c.attempt > e.attempts OR c.epoch < 1 OR c.epoch > e.epoch AS unknown_attempt,
           c.start < 0 OR c.dropped < COALESCE(c.dropped_before, 0) OR c.raw NOT BETWEEN 1 AND 65536
               OR c.packed NOT IN (0, 1) OR CASE c.packed WHEN 0 THEN c.stored <> c.raw ELSE c.stored >= c.raw END AS damaged,
           c.start < c.end_before AS overlapping
      FROM chunks c JOIN executions e ON e.id = c.execution
), suspects AS MATERIALIZED (
    SELECT * FROM checked WHERE unknown_attempt OR damaged OR overlapping
)
--! I42 execution, 'it has a log chunk of attempt ' || attempt || ', epoch ' || epoch || ', but only '
           || attempts || ' attempts, and its epoch is ' || last_epoch FROM suspects WHERE unknown_attempt
--! I42 execution, 'the log chunk of attempt ' || attempt || ' at byte ' || start || ' is damaged: ' || raw
           || ' bytes, stored in ' || stored || ', after ' || dropped || ' dropped bytes' FROM suspects WHERE damaged
--! I42 execution, 'the log chunk of attempt ' || attempt || ' at byte ' || start
           || ' starts before the end of the previous chunk, ' || end_before FROM suspects WHERE overlapping

--: verify_identity(max i64)
WITH wanted(name) AS (
    SELECT 'database_id' UNION ALL SELECT 'fence_generation' UNION ALL SELECT 'minimum_schema'
    UNION ALL SELECT 'settings_version'
)
--! I43 0, 'the setting ' || w.name || CASE WHEN s.value IS NULL THEN ' does not exist' ELSE ' is ' || s.value END
      FROM wanted w LEFT JOIN settings s ON s.name = w.name
     WHERE s.value IS NULL OR s.value = '' OR (w.name <> 'database_id' AND (length(s.value) > 18 OR s.value LIKE '0%'
           OR s.value ~ '[^0-9]'))                                                          --@ postgres
           OR s.value GLOB '*[^0-9]*'))                                                     --@ sqlite

-- The primary key of schedule_firings ensures one firing per due time. A manual run has no firing, and firings remain
-- when their schedule is removed.
--: verify_schedules(max i64)
--! I38 f.execution, 'schedule ' || f.schedule || ' fired it, but it '
           || CASE WHEN e.id IS NULL THEN 'does not exist' ELSE 'is not a root workflow' END
      FROM schedule_firings f LEFT JOIN executions e ON e.id = f.execution
     WHERE e.id IS NULL OR e.kind <> KIND_WORKFLOW OR e.parent IS NOT NULL
--! I38 execution, 'it belongs to ' || count(*) || ' firings' FROM schedule_firings
     GROUP BY execution HAVING count(*) > 1
--! I38 0, 'the schedule ' || s.workflow || '/' || s.name || ' belongs to a workflow that is not applied'
      FROM schedules s WHERE NOT EXISTS (SELECT 1 FROM workflow_names n WHERE n.name = s.workflow)
--! I38 0, 'the schedule ' || s.workflow || '/' || s.name || ' is paused, but waits to be fired'
      FROM schedules s WHERE s.paused_at IS NOT NULL AND (s.next_at IS NOT NULL OR s.waiting_at IS NOT NULL)
--! I38 COALESCE(s.last_run, 0), 'a due time of ' || s.workflow || '/' || s.name || ' waits, but was already fired'
      FROM schedules s JOIN schedule_firings f ON f.schedule = s.id AND f.due_at = s.waiting_at

--: verify_catalogue(max i64)
--! I44 0, 'the workflow ' || n.name || ' is applied with the definition ' || n.hash || ', but its newest application '
           || CASE WHEN a.hash IS NULL THEN 'does not exist' ELSE 'has the definition ' || a.hash END
      FROM workflow_names n LEFT JOIN workflow_applications a ON a.name = n.name
       AND a.seq = (SELECT max(l.seq) FROM workflow_applications l WHERE l.name = n.name)
     WHERE a.hash IS NULL OR a.hash <> n.hash
--! I44 0, 'version ' || a.seq || ' of the workflow ' || a.name || ' has the definition ' || a.hash || ', which is not stored'
      FROM workflow_applications a WHERE NOT EXISTS (SELECT 1 FROM workflow_definitions d WHERE d.hash = a.hash)

-- The names in `follows` of the applied definitions, and the rows of workflow_triggers. Retention deletes the run that
-- ended and the submission that it made independently of each other.
--: verify_triggers(max i64)
--! I45 0, 'the workflow ' || a.name || ' follows ' || a.source || ', but no trigger says so'
      FROM (SELECT n.name, f.value ->> 'name' AS source
              FROM workflow_names n JOIN workflow_definitions d ON d.hash = n.hash
              CROSS JOIN LATERAL json_array_elements(d.definition::json -> 'follows') f(value)      --@ postgres
              CROSS JOIN json_each(d.definition, '$.follows') f                                     --@ sqlite
           ) AS a
     WHERE NOT EXISTS (SELECT 1 FROM workflow_triggers g WHERE g.workflow = a.name AND g.source = a.source)
--! I45 0, 'a trigger says that the workflow ' || g.workflow || ' follows ' || g.source || ', but it does not'
      FROM workflow_triggers g
     WHERE NOT EXISTS (
           SELECT 1 FROM workflow_names n JOIN workflow_definitions d ON d.hash = n.hash
             CROSS JOIN LATERAL json_array_elements(d.definition::json -> 'follows') f(value)       --@ postgres
             CROSS JOIN json_each(d.definition, '$.follows') f                                      --@ sqlite
            WHERE n.name = g.workflow AND f.value ->> 'name' = g.source)
--! I45 0, 'the webhook ' || k.hook || ' starts the workflow ' || k.workflow || ', but its definition does not name it'
      FROM workflow_webhooks k
     WHERE NOT EXISTS (
           SELECT 1 FROM workflow_names n JOIN workflow_definitions d ON d.hash = n.hash
             CROSS JOIN LATERAL json_array_elements(d.definition::json -> 'webhooks') f(value)      --@ postgres
             CROSS JOIN json_each(d.definition, '$.webhooks') f                                     --@ sqlite
            WHERE n.name = k.workflow AND f.value ->> 'name' = k.hook)
--! I45 s.source, 'its event ' || s.source_seq || ' submitted ' || s.id || ', but did not end it'
      FROM submissions s JOIN executions e ON e.id = s.source
      LEFT JOIN execution_events v ON v.root = e.root AND v.execution = e.id AND v.seq = s.source_seq
     WHERE COALESCE(v.to_status, S_PENDING) < S_SUCCEEDED OR e.parent IS NOT NULL OR e.kind <> KIND_WORKFLOW

-- A submission with a key may have an execution that existed before.
--: verify_submissions(max i64)
--! I39 s.execution, 'submission ' || s.id || ' was taken, but '
           || CASE WHEN e.id IS NULL THEN 'its execution does not exist' ELSE 'its execution is not a root workflow' END
      FROM submissions s LEFT JOIN executions e ON e.id = s.execution
     WHERE s.execution IS NOT NULL AND (e.id IS NULL OR e.kind <> KIND_WORKFLOW OR e.parent IS NOT NULL)
--! I39 s.execution, 'submission ' || s.id || ' has no key, but the execution of another submission'
      FROM submissions s WHERE s.execution <> s.id AND s.key IS NULL
--! I39 s.id, 'submission ' || s.id || ' was not taken, but an execution with its id exists'
      FROM submissions s JOIN executions e ON e.id = s.id WHERE s.execution IS NULL OR s.execution <> s.id
--! I39 s.id, 'submission ' || s.id || CASE WHEN s.decided_at IS NULL THEN ' was taken or refused, but has no decided_at'
           ELSE ' has decided_at, but is neither taken nor refused, or both' END
      FROM submissions s
     WHERE CASE WHEN s.decided_at IS NULL THEN 0 ELSE 1 END
           <> CASE WHEN s.execution IS NULL THEN 0 ELSE 1 END + CASE WHEN s.error IS NULL THEN 0 ELSE 1 END

-- ---- checkpoints (verify/history.c, verify/checkpoint.c)

-- All events in the order of their trees, in pages, each with columns of its execution. Columns that may be large come
-- only with the last event of an ended execution. For a good plan, PostgreSQL needs the page selected before the join,
-- its size as a literal, and a separate condition on root, to skip partitions.
--: verify_history(root i64, execution i64, seq i32)
SELECT v.root, v.execution, v.seq, v.type, v.from_status, v.to_status, v.attempt, v.epoch, v.worker, v.created_at, v.data,
       e.status, e.seq, e.attempts, e.epoch, e.max_attempts, e.requested_at, e.started_at, e.finished_at,
       CASE WHEN v.seq = e.seq AND e.status >= S_SUCCEEDED THEN e.result END,
       CASE WHEN v.seq = e.seq AND e.status >= S_SUCCEEDED THEN e.error END
  FROM (SELECT * FROM execution_events
         WHERE (root, execution, seq) > ($1, $2, $3)
           AND root >= $1                                        --@ postgres
         ORDER BY root, execution, seq LIMIT 1000) AS v
  LEFT JOIN executions e ON e.id = v.execution
 ORDER BY v.root, v.execution, v.seq
