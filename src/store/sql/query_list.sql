-- Lists of executions (query/list.c): newest first, in pages, in the order of an index. Filters without an index
-- (status, name, queue) are checked row by row, down to a floor that the caller sets.

-- ---- the floor: skips $2 executions below $1 and returns the next id

--: list_floor_roots(before i64, n i64)
SELECT e.id FROM executions e WHERE e.parent IS NULL AND e.id < $1 ORDER BY e.id DESC LIMIT 1 OFFSET $2

--: list_floor_children(before i64, n i64, parent i64)
SELECT e.id FROM executions e WHERE e.parent = $3 AND e.id < $1 ORDER BY e.id DESC LIMIT 1 OFFSET $2

--: list_floor_all(before i64, n i64)
SELECT e.id FROM executions e WHERE e.id < $1 ORDER BY e.id DESC LIMIT 1 OFFSET $2

-- ---- the lists

-- Ids below $1 and not below $2; at most $3 rows; $4 statuses as a set of bits (0: all); $5 a kind (0: any); $6 a glob
-- with * and ? for the name; $7 a queue; $8 the name of a workflow, for its executions and their tasks.
--= name_pattern replace(replace(replace(replace(replace($6, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'), '?', '_')
--= list SELECT @whole@, @past@ FROM executions e LEFT JOIN leases l ON l.execution = e.id
--= wanted e.id < $1 AND e.id >= $2
--=+       AND ($4 = 0 OR ((CAST(1 AS bigint) << e.status) & $4) <> 0) AND ($5 = 0 OR e.kind = $5)
--=+       AND ($7 IS NULL OR e.queue = $7)
--=+       AND ($8 IS NULL OR EXISTS (SELECT 1 FROM workflow_executions f JOIN workflow_definitions d ON d.hash = f.definition
--=+                                   WHERE f.execution IN (e.id, e.workflow) AND d.name = $8))
--=+       AND ($6 IS NULL OR e.name GLOB replace($6, '[', '[[]'))                         --@ sqlite
--=+       AND ($6 IS NULL OR e.name LIKE @name_pattern@)                                   --@ postgres
--=+       ORDER BY e.id DESC LIMIT $3

-- SQL submissions that wait for a worker are listed as the pending workflows that they will be.
--= list_submitted SELECT @submitted@ FROM submissions s WHERE @waits@ AND s.id < $1 AND s.id >= $2
--=+       AND ($4 = 0 OR ((CAST(1 AS bigint) << S_PENDING) & $4) <> 0) AND ($5 = 0 OR $5 = KIND_WORKFLOW)
--=+       AND ($7 IS NULL OR COALESCE(s.queue, 'default') = $7) AND ($8 IS NULL OR s.workflow = $8)
--=+       AND ($6 IS NULL OR s.workflow GLOB replace($6, '[', '[[]'))                      --@ sqlite
--=+       AND ($6 IS NULL OR s.workflow LIKE @name_pattern@)                               --@ postgres
--=+       ORDER BY s.id DESC LIMIT $3

--: list_roots(before i64, floor i64, n i64, statuses i64, kind i16, name text, queue text, workflow text)
SELECT * FROM (@list@ WHERE e.parent IS NULL AND @wanted@) AS x
UNION ALL
SELECT * FROM (@list_submitted@) AS y
 ORDER BY 1 DESC LIMIT $3

--: list_children(before i64, floor i64, n i64, statuses i64, kind i16, name text, queue text, workflow text, parent i64)
@list@ WHERE e.parent = $9 AND @wanted@

--: list_all(before i64, floor i64, n i64, statuses i64, kind i16, name text, queue text, workflow text)
SELECT * FROM (@list@ WHERE @wanted@) AS x
UNION ALL
SELECT * FROM (@list_submitted@) AS y
 ORDER BY 1 DESC LIMIT $3
