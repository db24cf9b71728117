-- Webhooks (ops/hooks.c, query/hook_list.c, schedule/apply_triggers.c, schedule/receive_webhook.c).

-- Returns no row if the name is in use.
--: hook_insert(name text, signature i16, secret bytes, at time, by_whom text, url text, statuses i32, workflow text,
--:+            queue text, tasks i16)
INSERT INTO hooks (name, signature, secret, created_at, created_by, url, statuses, workflow, queue, tasks)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT (name) DO NOTHING
RETURNING signature

--: hook_delete(name text)
DELETE FROM hooks WHERE name = $1 RETURNING CASE WHEN url IS NULL THEN 0 ELSE 1 END

-- ---- apply

--: webhooks_of(workflow text)
SELECT k.hook FROM workflow_webhooks k WHERE k.workflow = $1 ORDER BY k.hook

--: webhooks_delete(workflow text)
DELETE FROM workflow_webhooks WHERE workflow = $1

--: webhook_insert(; hook text, workflow text)
INSERT INTO workflow_webhooks @given@
ON CONFLICT (hook) DO NOTHING

-- The first of these webhooks that starts another workflow.
--: webhook_taken(hook text, workflow text)
SELECT k.workflow FROM workflow_webhooks k WHERE k.hook = $1 AND k.workflow <> $2

-- ---- receive

--: webhook_definition(hook text)
SELECT k.workflow, n.hash FROM workflow_webhooks k LEFT JOIN workflow_names n ON n.name = k.workflow WHERE k.hook = $1

-- ---- deliveries (workflow/deliveries.c)

-- A store reads them once for each version of the settings.
--: hooks_reporting()
SELECT h.name, h.statuses, h.workflow, h.queue, h.tasks FROM hooks h WHERE h.url IS NOT NULL ORDER BY h.name

--: query_hook_target(name text)
SELECT h.secret, h.url FROM hooks h WHERE h.name = $1 AND h.url IS NOT NULL

-- ---- read

--: query_hook(name text)
SELECT h.signature, h.secret FROM hooks h WHERE h.name = $1 AND h.url IS NULL

--: query_hooks()
SELECT h.name, h.signature, h.created_at, h.created_by, COALESCE(h.workflow, k.workflow), h.url, h.statuses, h.queue,
       h.tasks
  FROM hooks h LEFT JOIN workflow_webhooks k ON k.hook = h.name AND h.url IS NULL
 ORDER BY h.name
