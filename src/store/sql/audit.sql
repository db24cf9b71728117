-- The record of operator actions on queues, schedules, settings, access tokens and applied workflows (ops/audit.h).

-- The caller holds the lock of the subject, so two transactions never compute the same seq.
--: audit_insert(subject text, at time, action i16, by_whom text, reason text, data text)
INSERT INTO operator_orders (subject, seq, made_at, action, made_by, reason, data)
VALUES ($1, COALESCE((SELECT max(o.seq) FROM operator_orders o WHERE o.subject = $1), 0) + 1, $2, $3, $4, $5, $6)

--: audit_delete_old(before time, n i64)
DELETE FROM operator_orders
 WHERE (subject, seq) IN (SELECT o.subject, o.seq FROM operator_orders o WHERE o.made_at < $1 ORDER BY o.made_at LIMIT $2)
RETURNING seq

-- The columns of one entry d; audit_read_last reads them.
--= last_audit d.made_at, d.action, d.made_by, d.reason, d.data
