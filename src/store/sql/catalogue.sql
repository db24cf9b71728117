-- The catalogue of applied workflows (applied.c, schedule/apply.c, schedule/delete_applied.c, query/catalogue.c).

-- ---- apply and delete

--: applied_lock(name text)
SELECT hash FROM workflow_names WHERE name = $1
   FOR UPDATE                                                                              --@ postgres

-- Waits for another transaction that inserts the same name, and returns no row if that one commits.
--: applied_insert(name text, hash text, at time, by text)
INSERT INTO workflow_names (name, hash, applied_at, applied_by) VALUES ($1, $2, $3, $4)
ON CONFLICT (name) DO NOTHING
RETURNING name

--: applied_set(name text, hash text, at time, by text)
UPDATE workflow_names SET hash = $2, applied_at = $3, applied_by = $4 WHERE name = $1

--: applied_delete(name text)
DELETE FROM workflow_names WHERE name = $1

-- The caller holds the lock of the name, so two transactions never compute the same seq.
--: application_insert(name text, at time, tasks i32, params i32, hash text, by text, description text)
INSERT INTO workflow_applications (name, seq, applied_at, tasks, params, hash, applied_by, description)
VALUES ($1, COALESCE((SELECT max(a.seq) FROM workflow_applications a WHERE a.name = $1), 0) + 1, $2, $3, $4, $5, $6, $7)

--: definition_set_source(hash text, source text)
UPDATE workflow_definitions SET source = $2 WHERE hash = $1 AND source IS DISTINCT FROM $2

-- ---- read

--: query_applied(name text)
SELECT n.hash, d.definition FROM workflow_names n LEFT JOIN workflow_definitions d ON d.hash = n.hash WHERE n.name = $1

-- For a name that is not applied: who deleted it, and names that may have been meant.
--: applied_deleted(name text)
SELECT d.made_at, d.made_by, d.reason FROM operator_orders d WHERE d.subject = 'workflow:' || $1 ORDER BY d.seq DESC LIMIT 1

--: applied_names(n i64)
SELECT n.name FROM workflow_names n ORDER BY n.name LIMIT $1

-- A name with its newest application and its newest run, each found by one index probe. The schedules of one name are
-- few.
--= applied SELECT n.name, a.description, n.hash, a.tasks, a.params,
--=+       (SELECT count(*) FROM schedules s WHERE s.workflow = n.name), n.applied_at, n.applied_by,
--=+       e.id, e.status, e.started_at, e.finished_at
--=+  FROM workflow_names n
--=+  LEFT JOIN LATERAL (SELECT x.* FROM workflow_applications x WHERE x.name = n.name ORDER BY x.seq DESC LIMIT 1) a ON true   --@ postgres
--=+  LEFT JOIN workflow_applications a ON a.name = n.name                                     --@ sqlite
--=+       AND a.seq = (SELECT max(x.seq) FROM workflow_applications x WHERE x.name = n.name)  --@ sqlite
--=+  LEFT JOIN executions e ON e.id = (SELECT x.id FROM executions x
--=+       WHERE x.name = n.name AND x.parent IS NULL AND x.kind = KIND_WORKFLOW ORDER BY x.id DESC LIMIT 1)

-- At most $3 names after $1, by name; $2 is a glob with * and ?.
--: query_catalogue(after text, name text, n i64)
@applied@
 WHERE n.name > $1
   AND ($2 IS NULL OR n.name GLOB replace($2, '[', '[[]'))                                 --@ sqlite
   AND ($2 IS NULL OR n.name LIKE                                                          --@ postgres
        replace(replace(replace(replace(replace($2, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'), '?', '_'))   --@ postgres
 ORDER BY n.name LIMIT $3

--: query_applied_name(name text)
@applied@ WHERE n.name = $1

-- The newest application of a definition under a name; of the current definition if $2 is null.
--: query_application(name text, hash text)
SELECT a.hash, a.applied_at, a.applied_by, a.tasks, a.params, a.description, d.definition, d.source
  FROM workflow_applications a JOIN workflow_definitions d ON d.hash = a.hash
 WHERE a.name = $1 AND a.hash = COALESCE($2, (SELECT n.hash FROM workflow_names n WHERE n.name = $1))
 ORDER BY a.seq DESC LIMIT 1

-- The applications of a name with a seq below $2, newest first. The last column is 1 for the current one.
--: query_applications(name text, before i64, n i64)
SELECT a.seq, a.hash, a.applied_at, a.applied_by, a.tasks,
       CASE WHEN a.hash = n.hash AND a.seq = (SELECT max(l.seq) FROM workflow_applications l WHERE l.name = $1)
            THEN 1 ELSE 0 END
  FROM workflow_applications a JOIN workflow_definitions d ON d.hash = a.hash
  LEFT JOIN workflow_names n ON n.name = a.name
 WHERE a.name = $1 AND a.seq < $2
 ORDER BY a.seq DESC LIMIT $3
