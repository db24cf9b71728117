-- Versions and creation of the schema (schema.c), tenants (tenant.c) and settings.

--: migrations_table()
CREATE TABLE IF NOT EXISTS schema_migrations (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at timestamptz NOT NULL                                                        --@ postgres
    applied_at INTEGER NOT NULL                                                            --@ sqlite
)

-- 0 if schema_migrations does not exist, 1 if it does, 2 if a table of that name was not created by Pawl. Never fails.
--: migrations_exist()
SELECT CASE WHEN count(*) = 0 THEN 0
            WHEN count(*) = 3 AND count(*) FILTER (WHERE name IN ('version', 'name', 'applied_at')) = 3 THEN 1
            ELSE 2 END
  FROM pragma_table_info('schema_migrations')                                              --@ sqlite
  FROM (SELECT a.attname AS name FROM pg_attribute a                                       --@ postgres
         WHERE a.attrelid = pg_catalog.to_regclass(pg_catalog.quote_ident(current_schema()::text) || '.schema_migrations')   --@ postgres
           AND a.attnum > 0 AND NOT a.attisdropped) AS columns                             --@ postgres

-- All names in the schema, to detect those that a migration needs.
--: relations()
SELECT name FROM sqlite_master                                                             --@ sqlite
SELECT relname::text FROM pg_class WHERE relnamespace = pg_catalog.quote_ident(current_schema()::text)::regnamespace   --@ postgres

--: schema_version()
SELECT COALESCE(max(version), 0) FROM schema_migrations

--: schema_applied(version i32, name text, at time)
INSERT INTO schema_migrations (version, name, applied_at) VALUES ($1, $2, $3)

-- Only one process migrates at a time; the others wait and then find nothing to do.
--: schema_lock(schema text)
SELECT pg_advisory_xact_lock(hashtext('pawl.migrate.' || $1))                              --@ postgres
SELECT 1                                                                                   --@ sqlite

-- Names can't be parameters of DDL: they are passed in a setting of the transaction and quoted by format().
--: schema_name(schema text)
SELECT set_config('pawl.schema', $1, true)                                                 --@ postgres
SELECT $1                                                                                  --@ sqlite

--: schema_create()
SELECT 1                                                                                   --@ sqlite
DO $$                                                                                      --@ postgres
DECLARE                                                                                    --@ postgres
    name text := current_setting('pawl.schema');                                           --@ postgres
BEGIN                                                                                      --@ postgres
    IF NOT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = name) THEN                   --@ postgres
        EXECUTE format('CREATE SCHEMA %I', name);                                          --@ postgres
    END IF;                                                                                --@ postgres
END $$                                                                                     --@ postgres

-- A tenant is a schema and a role of the same name. The role gets only the rights of schema_grant and owns nothing.
--: tenant_create()
SELECT 1                                                                                   --@ sqlite
DO $$                                                                                      --@ postgres
DECLARE                                                                                    --@ postgres
    name text := current_setting('pawl.schema');                                           --@ postgres
BEGIN                                                                                      --@ postgres
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = name) THEN                       --@ postgres
        EXECUTE format('CREATE ROLE %I LOGIN', name);                                      --@ postgres
    END IF;                                                                                --@ postgres
    EXECUTE format('GRANT %I TO CURRENT_USER', name);                                      --@ postgres
    EXECUTE format('CREATE SCHEMA %I', name);                                              --@ postgres
END $$                                                                                     --@ postgres

--: tenant_drop()
SELECT 1                                                                                   --@ sqlite
DO $$                                                                                      --@ postgres
DECLARE                                                                                    --@ postgres
    name text := current_setting('pawl.schema');                                           --@ postgres
BEGIN                                                                                      --@ postgres
    EXECUTE format('DROP SCHEMA %I CASCADE', name);                                        --@ postgres
    IF NOT EXISTS (SELECT 1 FROM pg_shdepend d JOIN pg_roles r ON r.oid = d.refobjid WHERE r.rolname = name) THEN   --@ postgres
        EXECUTE format('DROP ROLE IF EXISTS %I', name);                                    --@ postgres
    END IF;                                                                                --@ postgres
END $$                                                                                     --@ postgres

--: tenant_list()
SELECT substr(nspname, 6)::text FROM pg_namespace WHERE nspname LIKE 'pawl\_%' ORDER BY 1   --@ postgres
SELECT 1 WHERE 0                                                                           --@ sqlite

--: tenant_exists(schema text)
SELECT count(*) FROM pg_namespace WHERE nspname = $1                                       --@ postgres
SELECT 0                                                                                   --@ sqlite

--: setting_read(name text)
SELECT value FROM settings WHERE name = $1

--: setting_init(name text, value text)
INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING
