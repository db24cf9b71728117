-- Webhooks (ops/hooks.c, query/hook_list.c, schedule/apply_triggers.c, schedule/receive_webhook.c).

-- Returns no row if the name is in use.
--: hook_insert(name text, signature i16, secret bytes, at time, by_whom text)
INSERT INTO hooks (name, signature, secret, created_at, created_by) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (name) DO NOTHING
RETURNING signature

--: hook_delete(name text)
DELETE FROM hooks WHERE name = $1 RETURNING signature

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

-- ---- read

--: query_hook(name text)
SELECT h.signature, h.secret FROM hooks h WHERE h.name = $1

--: query_hooks()
SELECT h.name, h.signature, h.created_at, h.created_by, k.workflow
  FROM hooks h LEFT JOIN workflow_webhooks k ON k.hook = h.name
 ORDER BY h.name
