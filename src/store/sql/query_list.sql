-- Lists of executions (query/list.c), newest first, in pages, in the order of an index. Filters without an index (all but
-- the time) are checked row by row, down to a floor that the caller sets.

-- ---- the range of ids

-- The floor: skips $2 executions below $1 and returns the next id.
--: list_floor_roots(before i64, n i64)
SELECT e.id FROM executions e WHERE e.parent IS NULL AND e.id < $1 ORDER BY e.id DESC LIMIT 1 OFFSET $2

--: list_floor_children(before i64, n i64, parent i64)
SELECT e.id FROM executions e WHERE e.parent = $3 AND e.id < $1 ORDER BY e.id DESC LIMIT 1 OFFSET $2

--: list_floor_all(before i64, n i64)
SELECT e.id FROM executions e WHERE e.id < $1 ORDER BY e.id DESC LIMIT 1 OFFSET $2

-- Ids rise with the time of the request, except for small inversions (see LIST_SKEW in query/list.c), so a binary search
-- turns a time into an id: the next older execution was requested before $1, the one with this id was not. Also returns
-- the highest id.
--= requested_in_middle (SELECT p.requested_at FROM executions p WHERE p.id >= (lo + hi) / 2 ORDER BY p.id LIMIT 1)
--: list_seek(target time)
WITH RECURSIVE bounds(least, most) AS (
    SELECT (SELECT min(a.id) FROM executions a WHERE a.id > 0), (SELECT max(z.id) FROM executions z WHERE z.id > 0)
), seek(lo, hi) AS MATERIALIZED (
    SELECT least, most + 1 FROM bounds
    UNION ALL
    SELECT CASE WHEN @requested_in_middle@ < $1 THEN (lo + hi) / 2 + 1 ELSE lo END,
           CASE WHEN @requested_in_middle@ < $1 THEN hi ELSE (lo + hi) / 2 END
      FROM seek WHERE lo < hi
)
SELECT lo, most FROM seek, bounds WHERE lo = hi

-- ---- find executions

-- Ids below $1 and not below $2; at most $3 rows; $4 statuses as a set of bits (0: all); $5 a kind (0: any); $6 a glob
-- with * and ? for the name; $7 a queue; $8 the name of a workflow, for its executions and their tasks; requested from
-- $9 on and before $10; $11 the last worker (0: any); $12 its host; $13 a glob for the requester; $14 1 to return the
-- input.
--= name_pattern replace(replace(replace(replace(replace($6, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'), '?', '_')
--= by_pattern replace(replace(replace(replace(replace($13, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'), '?', '_')
--= by_of_v COALESCE(json_extract(v.data, '$.by'), 'schedule ' || json_extract(v.data, '$.schedule'))    --@ sqlite
--= by_of_v COALESCE(@data_pg@ ->> 'by', 'schedule ' || (@data_pg@ ->> 'schedule'))                      --@ postgres
--= find SELECT e.id, e.root, e.kind, e.status, e.flags, e.cancel_requested, e.seq, e.name, e.queue,
--=+       CASE WHEN $14 = 1 THEN e.input END FROM executions e
--= wanted e.id < $1 AND e.id >= $2
--=+       AND ($4 = 0 OR ((CAST(1 AS bigint) << e.status) & $4) <> 0) AND ($5 = 0 OR e.kind = $5)
--=+       AND e.requested_at >= $9 AND e.requested_at < $10
--=+       AND ($7 IS NULL OR e.queue = $7)
--=+       AND ($6 IS NULL OR e.name GLOB replace($6, '[', '[[]'))                         --@ sqlite
--=+       AND ($6 IS NULL OR e.name LIKE @name_pattern@)                                   --@ postgres
--=+       AND ($8 IS NULL OR EXISTS (SELECT 1 FROM workflow_executions f JOIN workflow_definitions d ON d.hash = f.definition
--=+                                   WHERE f.execution IN (e.id, e.workflow) AND d.name = $8))
--=+       AND ($11 = 0 OR @last_worker@ = $11)
--=+       AND ($12 IS NULL OR (SELECT h.host FROM worker_hosts h WHERE h.worker = @last_worker@) = $12)
--=+       AND ($13 IS NULL OR EXISTS (SELECT 1 FROM execution_events v WHERE v.root = e.root AND v.execution = e.id AND v.seq = 1
--=+              AND @by_of_v@ GLOB replace($13, '[', '[[]')))                             --@ sqlite
--=+              AND @by_of_v@ LIKE @by_pattern@))                                         --@ postgres
--=+       ORDER BY e.id DESC LIMIT $3

-- SQL submissions that wait for a worker are found as the pending workflows that they will be.
--= find_submitted SELECT s.id, s.id, KIND_WORKFLOW, S_PENDING, 0, 0, 0, s.workflow, COALESCE(s.queue, 'default'),
--=+       CASE WHEN $14 = 1 THEN s.params END
--=+       FROM submissions s WHERE @waits@ AND s.id < $1 AND s.id >= $2
--=+       AND ($4 = 0 OR ((CAST(1 AS bigint) << S_PENDING) & $4) <> 0) AND ($5 = 0 OR $5 = KIND_WORKFLOW)
--=+       AND s.requested_at >= $9 AND s.requested_at < $10
--=+       AND ($7 IS NULL OR COALESCE(s.queue, 'default') = $7) AND ($8 IS NULL OR s.workflow = $8)
--=+       AND ($6 IS NULL OR s.workflow GLOB replace($6, '[', '[[]'))                      --@ sqlite
--=+       AND ($6 IS NULL OR s.workflow LIKE @name_pattern@)                               --@ postgres
--=+       AND $11 = 0 AND $12 IS NULL
--=+       AND ($13 IS NULL OR s.requested_by GLOB replace($13, '[', '[[]'))                --@ sqlite
--=+       AND ($13 IS NULL OR s.requested_by LIKE @by_pattern@)                            --@ postgres
--=+       ORDER BY s.id DESC LIMIT $3

--: list_roots(before i64, floor i64, n i64, statuses i64, kind i16, name text, queue text, workflow text,
--:+ since time, until time, worker i64, host text, by text, input i16)
SELECT * FROM (@find@ WHERE e.parent IS NULL AND @wanted@) AS x
UNION ALL
SELECT * FROM (@find_submitted@) AS y
 ORDER BY 1 DESC LIMIT $3

--: list_children(before i64, floor i64, n i64, statuses i64, kind i16, name text, queue text, workflow text,
--:+ since time, until time, worker i64, host text, by text, input i16, parent i64)
@find@ WHERE e.parent = $15 AND @wanted@

--: list_all(before i64, floor i64, n i64, statuses i64, kind i16, name text, queue text, workflow text,
--:+ since time, until time, worker i64, host text, by text, input i16)
SELECT * FROM (@find@ WHERE @wanted@) AS x
UNION ALL
SELECT * FROM (@find_submitted@) AS y
 ORDER BY 1 DESC LIMIT $3

-- ---- read them

-- The executions with these ids, newest first. On SQLite the statement runs once for each id, in the given order.
--: list_read(; id i64)
SELECT @whole@, @past@
  FROM executions e LEFT JOIN leases l ON l.execution = e.id
 WHERE e.id = ANY ($1)
UNION ALL
SELECT @submitted@ FROM submissions s WHERE s.id = ANY ($1) AND @waits@
 ORDER BY 1 DESC                                                                           --@ postgres

--: list_statuses(; id i64)
SELECT e.id, e.status FROM executions e WHERE e.id = ANY ($1)
