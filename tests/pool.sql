-- pool.sql - PostgreSQL tenants that tests reuse. Creating and dropping a tenant costs the server many times what
-- emptying one does. tests/run runs this script once, as superuser. One session, the keeper, empties all tenants, so
-- that the catalog queries of these functions are planned only once. fixture_tenant.c and cli_common.bash use it.
--
-- A reused tenant gets a new name, so that processes left by the previous test cannot reach it. It must equal a new
-- tenant; otherwise it is not reused.

CREATE SCHEMA test_pool;
CREATE SEQUENCE test_pool.names;
-- A new tenant as each build creates it: its description (form) and its initial settings.
CREATE TABLE test_pool.builds (
    build text PRIMARY KEY,
    form text NOT NULL,
    settings json NOT NULL
);
-- The mark of each tenant at the time when it equalled a new tenant of its build.
CREATE TABLE test_pool.tenants (
    space oid PRIMARY KEY,
    build text NOT NULL,
    mark text NOT NULL
);

-- ---- a tenant's description: one line per object, without the tenant's name and the id of the database ----

-- The part that is quick to compute.
CREATE FUNCTION test_pool.outline(tenant name) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    space CONSTANT oid := tenant::regnamespace;
    role CONSTANT oid := tenant::regrole;
BEGIN
    RETURN QUERY
    -- The planner uses pages and tuples.
    SELECT format('relation %s %s %s of %s %s', c.relname, c.relkind, c.relpersistence, c.relowner = role,
                  replace(c.relacl::text, tenant, '@'))
           || format(' %s %s %s %s', c.reloptions, c.relispartition, c.relreplident, c.relrowsecurity)
           || format(' %s %s', c.relpages, c.reltuples)
      FROM pg_class c WHERE c.relnamespace = space
    UNION ALL
    SELECT format('sequence %s %s %s %s', c.relname, s.seqtypid, s.seqstart, s.seqincrement)
           || format(' %s %s %s %s at %s', s.seqmin, s.seqmax, s.seqcache, s.seqcycle, pg_sequence_last_value(c.oid))
      FROM pg_class c JOIN pg_sequence s ON s.seqrelid = c.oid WHERE c.relnamespace = space
    UNION ALL
    SELECT format('function %s %s of %s %s %s', p.proname, p.proargtypes, p.proowner = role, md5(p.prosrc), p.prosecdef)
           || format(' %s %s', replace(p.proacl::text, tenant, '@'), replace(p.proconfig::text, tenant, '@'))
      FROM pg_proc p WHERE p.pronamespace = space
    UNION ALL
    SELECT format('statistics of %s.%s', c.relname, s.staattnum)
      FROM pg_class c JOIN pg_statistic s ON s.starelid = c.oid WHERE c.relnamespace = space
    UNION ALL
    SELECT format('schema of %s %s', n.nspowner = role, replace(n.nspacl::text, tenant, '@'))
      FROM pg_namespace n WHERE n.oid = space
    UNION ALL
    SELECT format('schema has %s', count(*)) FROM pg_depend WHERE refclassid = 'pg_namespace'::regclass AND refobjid = space
    UNION ALL
    SELECT format('role %s %s %s %s', a.rolsuper, a.rolinherit, a.rolcreaterole, a.rolcreatedb)
           || format(' %s %s %s', a.rolcanlogin, a.rolconnlimit, a.rolpassword)
      FROM pg_authid a WHERE a.oid = role
    UNION ALL
    SELECT format('role is for %s', m.member::regrole) FROM pg_auth_members m WHERE m.roleid = role
    UNION ALL
    SELECT format('role may be %s', m.roleid::regrole) FROM pg_auth_members m WHERE m.member = role
    UNION ALL
    SELECT format('role sets %s', s.setconfig) FROM pg_db_role_setting s WHERE s.setrole = role
    UNION ALL
    SELECT format('role has %s', count(*)) FROM pg_shdepend WHERE refclassid = 'pg_authid'::regclass AND refobjid = role;
    RETURN QUERY EXECUTE format($q$
        SELECT format('setting %%s %%s', name, CASE WHEN name <> 'database_id' THEN value END) FROM %1$I.settings
        UNION ALL
        SELECT format('migration %%s %%s', version, name) FROM %1$I.schema_migrations$q$, tenant);
END $$;

-- The remaining, slower part.
CREATE FUNCTION test_pool.details(tenant name) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    space CONSTANT oid := tenant::regnamespace;
BEGIN
    RETURN QUERY
    SELECT format('column %s.%s %s %s %s %s', c.relname, a.attname, a.attnum, a.atttypid, a.atttypmod, a.attnotnull)
           || format(' %s %s %s', a.attstorage, replace(a.attacl::text, tenant, '@'), pg_get_expr(d.adbin, a.attrelid))
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE c.relnamespace = space AND c.relkind <> 'i' AND a.attnum > 0
    UNION ALL
    SELECT format('index %s on %s %s %s %s', c.relname, t.relname, i.indkey, i.indclass, i.indoption)
           || format(' %s %s %s %s', i.indisunique, i.indisprimary, i.indisvalid, i.indisready)
           || format(' %s %s', pg_get_expr(i.indexprs, i.indrelid), pg_get_expr(i.indpred, i.indrelid))
      FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_class t ON t.oid = i.indrelid
     WHERE c.relnamespace = space
    UNION ALL
    SELECT format('constraint %s of %s %s %s %s', o.conname, c.relname, o.contype, o.conkey, o.convalidated)
      FROM pg_class c JOIN pg_constraint o ON o.conrelid = c.oid WHERE c.relnamespace = space
    UNION ALL
    SELECT format('trigger %s of %s %s %s %s', t.tgname, c.relname, t.tgenabled, t.tgtype, p.proname)
      FROM pg_class c JOIN pg_trigger t ON t.tgrelid = c.oid JOIN pg_proc p ON p.oid = t.tgfoid
     WHERE c.relnamespace = space
    UNION ALL
    SELECT format('view %s %s %s', c.relname, r.ev_enabled, md5(replace(pg_get_viewdef(c.oid), tenant, '@')))
      FROM pg_class c JOIN pg_rewrite r ON r.ev_class = c.oid WHERE c.relnamespace = space
    UNION ALL
    SELECT format('size of %s: %s', c.relname, pg_total_relation_size(c.oid)) || pg_get_expr(c.relpartbound, c.oid)
      FROM pg_class c WHERE c.relnamespace = space;
END $$;

-- A quick substitute for the details: each catalog row identified by when it was last written.
CREATE FUNCTION test_pool.details_mark(tenant name) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    things CONSTANT oid[] := ARRAY(SELECT oid FROM pg_class WHERE relnamespace = tenant::regnamespace);
BEGIN
    RETURN QUERY
    SELECT format('columns %s %s', count(*), sum(xmin::text::bigint)) FROM pg_attribute WHERE attrelid = ANY (things)
    UNION ALL
    SELECT format('defaults %s %s', count(*), sum(xmin::text::bigint)) FROM pg_attrdef WHERE adrelid = ANY (things)
    UNION ALL
    SELECT format('indexes %s %s', count(*), sum(xmin::text::bigint)) FROM pg_index WHERE indrelid = ANY (things)
    UNION ALL
    SELECT format('constraints %s %s', count(*), sum(xmin::text::bigint)) FROM pg_constraint WHERE conrelid = ANY (things)
    UNION ALL
    SELECT format('triggers %s %s', count(*), sum(xmin::text::bigint)) FROM pg_trigger WHERE tgrelid = ANY (things)
    UNION ALL
    SELECT format('views %s %s', count(*), sum(xmin::text::bigint)) FROM pg_rewrite WHERE ev_class = ANY (things)
    UNION ALL
    SELECT format('partitions %s %s', count(*), sum(xmin::text::bigint)) FROM pg_inherits WHERE inhrelid = ANY (things);
END $$;

CREATE FUNCTION test_pool.form(tenant name) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT replace(line, E'\n', ' ') -- PostgreSQL breaks the lines of a CASE
      FROM (SELECT test_pool.outline(tenant) UNION ALL SELECT test_pool.details(tenant)) AS lines(line) ORDER BY 1
$$;

CREATE FUNCTION test_pool.mark(tenant name) RETURNS text LANGUAGE sql AS $$
    SELECT md5(string_agg(line, E'\n' ORDER BY line COLLATE "C"))
      FROM (SELECT test_pool.outline(tenant) UNION ALL SELECT test_pool.details_mark(tenant)) AS lines(line)
$$;

-- ---- functions called by the tests ----

-- Called for each new tenant, before it is used.
CREATE FUNCTION test_pool.remember(build text, tenant text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    name CONSTANT name := 'pawl_' || tenant;
    form CONSTANT text := string_agg(line, E'\n') FROM test_pool.form(name) AS line;
    settings json;
BEGIN
    EXECUTE format('SELECT json_object_agg(name, value) FROM %I.settings', name) INTO settings;
    INSERT INTO test_pool.builds VALUES (build, form, settings) ON CONFLICT DO NOTHING;
    ASSERT form = (SELECT b.form FROM test_pool.builds b WHERE b.build = remember.build), 'new tenants differ';
    INSERT INTO test_pool.tenants VALUES (name::regnamespace, build, test_pool.mark(name));
END $$;

-- Leaves unwritten tables alone, because TRUNCATE creates new files for a table and its indexes.
CREATE FUNCTION test_pool.clear(tenant name) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    tables CONSTANT regclass[] := ARRAY(SELECT c.oid::regclass FROM pg_class c
        WHERE c.relnamespace = tenant::regnamespace AND c.relkind = 'r' AND c.relname <> 'schema_migrations');
    written regclass[];
BEGIN
    -- Statements of processes that have ended finish first, and no others follow.
    EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', array_to_string(tables, ', '));
    written := ARRAY(SELECT t FROM unnest(tables) AS t WHERE pg_relation_size(t) > 0);
    EXECUTE format('TRUNCATE %s', array_to_string(written, ', '));
    -- CREATE INDEX tells the planner that an index is empty; TRUNCATE does not.
    UPDATE pg_class c SET relpages = 1, reltuples = 0
      FROM pg_index i WHERE i.indrelid = ANY (written) AND c.oid = i.indexrelid AND c.relpages = 0;
    PERFORM pg_stat_reset_single_table_counters(t) FROM unnest(written) AS t; -- autovacuum would analyze it while it is empty
    EXECUTE format($q$
        INSERT INTO %I.settings
        SELECT s.key, CASE s.key WHEN 'database_id' THEN left(md5(random()::text), 16) ELSE s.value END
          FROM test_pool.tenants JOIN test_pool.builds USING (build), json_each_text(settings) s
         WHERE space = %L::regnamespace$q$, tenant, tenant);
    PERFORM setval(c.oid::regclass, 1, false) FROM pg_class c
      WHERE c.relnamespace = tenant::regnamespace AND c.relkind = 'S';
END $$;

-- Empties a tenant and returns its new name. Fails if the tenant no longer equals a new one.
CREATE FUNCTION test_pool.give_back(build text, tenant text) RETURNS text LANGUAGE plpgsql
SET session_replication_role = replica -- the history's triggers refuse a TRUNCATE
SET lock_timeout = '5s' AS $$
DECLARE
    old CONSTANT name := 'pawl_' || tenant;
    new CONSTANT text := 'p' || nextval('test_pool.names');
    f text;
BEGIN
    PERFORM test_pool.clear(old);
    IF NOT EXISTS (SELECT FROM test_pool.tenants t WHERE t.space = old::regnamespace AND t.build = give_back.build
                      AND t.mark = test_pool.mark(old)) THEN
        RAISE EXCEPTION 'the tenant % is not what it was', tenant;
    END IF;
    EXECUTE format('ALTER SCHEMA %I RENAME TO pawl_%s', old, new);
    EXECUTE format('ALTER ROLE %I RENAME TO pawl_%s', old, new);
    FOREACH f IN ARRAY ARRAY['pawl_submit', 'make_event_partitions', 'drop_event_partitions'] LOOP
        EXECUTE format('ALTER FUNCTION pawl_%s.%s SET search_path = pawl_%1$s, pg_temp', new, f);
    END LOOP;
    RETURN new;
END $$;

-- give_back for the keeper: returns the file that offers the tenant for reuse, or NULL if the tenant has changed; it
-- then stays unused until the server is removed.
CREATE FUNCTION test_pool.keep(build text, tenant text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN build || '/' || test_pool.give_back(build, tenant);
EXCEPTION WHEN OTHERS THEN
    RAISE LOG '%', SQLERRM;
    RETURN NULL;
END $$;
