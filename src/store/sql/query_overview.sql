-- An overview of the whole database (query/overview.c): few rows, however much is stored.

-- Running jobs, the oldest first; there are few leases. The start of the attempt and its newest log chunk are one index
-- probe each. $1 is a part of the name or queue, compared regardless of case. (A plain join may be planned as a scan of
-- all executions in the order of their ids.)
--: query_running(part text, n i64)
SELECT e.id, e.root, e.attempts, e.max_attempts, e.name, e.queue, e.lane, l.worker,
       (SELECT v.created_at FROM execution_events v WHERE v.root = e.root AND v.execution = e.id
           AND v.type IN (EV_CLAIMED, EV_RESUMED) ORDER BY v.seq DESC LIMIT 1),
       c.raw, c.packed, c.data
  FROM leases l CROSS JOIN executions e ON e.id = l.execution                              --@ sqlite
  LEFT JOIN attempt_logs c ON c.rowid =                                                    --@ sqlite
       (SELECT x.rowid FROM attempt_logs x WHERE x.execution = e.id AND x.attempt = e.attempts   --@ sqlite
         ORDER BY x.epoch DESC, x.start DESC LIMIT 1)                                      --@ sqlite
 WHERE $1 IS NULL OR instr(lower(e.name || ' ' || e.queue), lower($1)) > 0                 --@ sqlite
  FROM leases l                                                                            --@ postgres
 CROSS JOIN LATERAL (SELECT x.* FROM executions x WHERE x.id = l.execution OFFSET 0) e     --@ postgres
  LEFT JOIN LATERAL (SELECT x.raw, x.packed, x.data FROM attempt_logs x                    --@ postgres
                      WHERE x.execution = e.id AND x.attempt = e.attempts                  --@ postgres
                      ORDER BY x.epoch DESC, x.start DESC LIMIT 1) c ON true               --@ postgres
 WHERE $1 IS NULL OR strpos(lower(e.name || ' ' || e.queue), lower($1)) > 0                --@ postgres
 ORDER BY l.execution LIMIT $2
