-- Access tokens (ops/tokens.c).

-- The condition of the index access_tokens_name: this token k has its name to itself.
--= token_has_name k.revoked_at IS NULL AND k.replaced_at IS NULL

--: token_lock(name text)
SELECT k.created_at, k.expires_at FROM access_tokens k WHERE k.name = $1 AND @token_has_name@
   FOR UPDATE                                                                              --@ postgres

--: token_replace(name text, at time)
UPDATE access_tokens AS k SET replaced_at = $2 WHERE k.name = $1 AND @token_has_name@

-- Returns no row if another transaction has created a token of this name meanwhile.
--: token_insert(hash bytes, name text, scopes i32, queues text, lanes text, at time, by_whom text, expires_at time)
INSERT INTO access_tokens (hash, name, scopes, queues, lanes, created_at, created_by, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (name) WHERE revoked_at IS NULL AND replaced_at IS NULL DO NOTHING
RETURNING scopes

--: token_revoke(name text, at time, by_whom text)
UPDATE access_tokens AS k SET revoked_at = $2, revoked_by = $3 WHERE k.name = $1 AND @token_has_name@

--: token_use(hash bytes, at time, before time)
UPDATE access_tokens SET last_used_at = $2 WHERE hash = $1 AND (last_used_at IS NULL OR last_used_at < $3)
