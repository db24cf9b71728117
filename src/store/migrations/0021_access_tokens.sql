-- Access tokens of the HTTP server. hash: BLAKE2b of the secret, which is stored nowhere. scopes: bits, see TOKEN_SCOPES in
-- core/vocab.h. queues, lanes: JSON lists that restrict the scope work; null for any. Rows are never deleted: a token's name
-- is the requester in events. replaced_at: when another token got the name of this one, which had expired.
CREATE TABLE access_tokens (
    hash bytea PRIMARY KEY,
    name TEXT NOT NULL,
    scopes INTEGER NOT NULL,
    queues TEXT,
    lanes TEXT,
    created_at timestamptz NOT NULL,
    created_by TEXT,
    expires_at timestamptz,
    replaced_at timestamptz,
    revoked_at timestamptz,
    revoked_by TEXT,
    last_used_at timestamptz
);                                                          --@ postgres
) STRICT, WITHOUT ROWID;                                    --@ sqlite

-- A name belongs to one token until that is revoked or, after it expired, replaced.
CREATE UNIQUE INDEX access_tokens_name ON access_tokens (name) WHERE revoked_at IS NULL AND replaced_at IS NULL;
