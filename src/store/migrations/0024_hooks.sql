-- Webhooks that start workflows (`on: webhook`).

-- signature: how its messages are signed, see WEBHOOK_SIGNATURES in core/webhook.h. secret: the key of the HMAC, which must
-- be known to check a message, so a hash of it is not enough.
CREATE TABLE hooks (
    name TEXT PRIMARY KEY,
    signature smallint NOT NULL,
    secret bytea NOT NULL,
    created_at timestamptz NOT NULL,
    created_by TEXT
);                                                          --@ postgres
) STRICT, WITHOUT ROWID;                                    --@ sqlite

-- The workflow that a webhook starts: the one whose applied definition names it. A webhook may be created before or after
-- the workflow is applied.
CREATE TABLE workflow_webhooks (
    hook TEXT PRIMARY KEY,
    workflow TEXT NOT NULL
);                                                          --@ postgres
) STRICT, WITHOUT ROWID;                                    --@ sqlite
CREATE INDEX workflow_webhooks_workflow ON workflow_webhooks (workflow);

-- Roles that were granted rights to `workflow_names` get them for the new tables: they write both.
DO $$                                                                                                                --@ postgres
DECLARE                                                                                                              --@ postgres
    command text;                                                                                                    --@ postgres
BEGIN                                                                                                                --@ postgres
    FOR command IN                                                                                                   --@ postgres
        SELECT format('GRANT %s ON hooks, workflow_webhooks TO %s', a.privilege_type,                                --@ postgres
                      CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END)        --@ postgres
          FROM pg_class c, aclexplode(c.relacl) a                                                                    --@ postgres
         WHERE c.oid = 'workflow_names'::regclass AND a.grantee <> c.relowner                                        --@ postgres
    LOOP                                                                                                             --@ postgres
        EXECUTE command;                                                                                             --@ postgres
    END LOOP;                                                                                                        --@ postgres
END $$;                                                                                                              --@ postgres

-- A process of an older version must end (see 0013_counters.sql): it would apply workflows without their webhooks.
DROP TRIGGER turns_refuse_older_schema ON turns;                                                   --@ postgres
DROP TRIGGER turns_refuse_older_schema;                                                            --@ sqlite
CREATE TRIGGER turns_refuse_older_schema BEFORE INSERT ON turns                                    --@ postgres
    FOR EACH ROW WHEN (NEW.schema_version IS NULL OR NEW.schema_version < 24)                      --@ postgres
    EXECUTE FUNCTION refuse_older_schema();                                                        --@ postgres
CREATE TRIGGER turns_refuse_older_schema BEFORE INSERT ON turns                                    --@ sqlite
WHEN NEW.schema_version IS NULL OR NEW.schema_version < 24                                         --@ sqlite
BEGIN SELECT RAISE(ABORT, 'a newer pawl has upgraded the schema of this database: restart this process with the newer pawl'); END;   --@ sqlite
UPDATE settings SET value = '24' WHERE name = 'minimum_schema';
