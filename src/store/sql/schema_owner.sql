-- Ownership of a schema on PostgreSQL (schema_owner.c). All statements run in a TX_CATALOG transaction: until a schema
-- is known to be trusted, no name is looked up in it, and nothing is read from it that could run code of another role.

-- The owner, the role that the session acts as, and the kind of owner: 1 that role; 2 the tenant's role, as in version
-- 10 and older; 3 a role that is trusted with the session's rights, or whose schema is used only with a tenant's
-- rights; 4 any other role. A login may act as another role (ALTER ROLE … SET role), which then owns what it creates;
-- its schema is used with a tenant's rights only if the login itself is the tenant's role, because code can reset the
-- role to the login. The last columns name a function, operator or type in the schema that a call could resolve to and
-- whose owner is neither the schema's owner nor the role that the session acts as; then that owner, and the name if it
-- is a function. Types count, because a call with one argument is a cast if a type has that name, and a domain runs its
-- CHECK. Row types of tables depend on their table, not on the schema. Every process runs this in a new session. It
-- uses scalar subqueries, because planning a join of all these tables would take longer than the rest of the check.
--: schema_owner(schema text)
SELECT pg_get_userbyid(n.nspowner)::text, current_user::text,                                                            --@ postgres
       CASE WHEN pg_get_userbyid(n.nspowner) = n.nspname AND n.nspname LIKE 'pawl\_%' THEN 2                             --@ postgres
            WHEN pg_get_userbyid(n.nspowner) = current_user THEN 1                                                       --@ postgres
            WHEN (current_user = n.nspname AND session_user = current_user)                                              --@ postgres
              OR (SELECT rolsuper FROM pg_roles WHERE oid = n.nspowner)                                                  --@ postgres
              OR n.nspowner = (SELECT datdba FROM pg_database WHERE datname = current_database()) THEN 3                 --@ postgres
            ELSE 4 END,                                                                                                  --@ postgres
       f.identity, f.owner, f.name                                                                                       --@ postgres
  FROM pg_namespace n                                                                                                    --@ postgres
  LEFT JOIN LATERAL (                                                                                                    --@ postgres
       SELECT (pg_identify_object(o.classid, o.objid, 0)).identity, pg_get_userbyid(o.owner)::text AS owner,             --@ postgres
              (SELECT proname::text FROM pg_proc WHERE oid = o.objid AND o.classid = 'pg_proc'::regclass) AS name        --@ postgres
         FROM (SELECT d.classid, d.objid,                                                                                --@ postgres
                      CASE d.classid                                                                                     --@ postgres
                      WHEN 'pg_proc'::regclass THEN (SELECT proowner FROM pg_proc WHERE oid = d.objid)                   --@ postgres
                      WHEN 'pg_operator'::regclass THEN (SELECT oprowner FROM pg_operator WHERE oid = d.objid)           --@ postgres
                      WHEN 'pg_type'::regclass THEN (SELECT typowner FROM pg_type WHERE oid = d.objid)                   --@ postgres
                      END AS owner                                                                                       --@ postgres
                 FROM pg_depend d                                                                                        --@ postgres
                WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = n.oid                                     --@ postgres
               OFFSET 0) o                                                                                               --@ postgres
        WHERE o.owner <> n.nspowner AND pg_get_userbyid(o.owner) <> current_user                                         --@ postgres
          AND NOT (SELECT rolsuper FROM pg_roles WHERE oid = o.owner)                                                    --@ postgres
        ORDER BY 1 LIMIT 1) f ON true                                                                                    --@ postgres
 WHERE n.nspname = $1                                                                                                    --@ postgres

--: schema_enter(schema text)
SELECT set_config('search_path', quote_ident($1) || ', pg_temp', true)                                                   --@ postgres

-- The number of sessions and prepared transactions of a tenant's role: a transaction that one of them has open could be
-- committed after the schema was checked.
--: tenant_sessions(role text)
SELECT (SELECT count(*) FROM pg_stat_activity                                                                            --@ postgres
         WHERE usename = $1 AND datname = current_database() AND pid <> pg_backend_pid())                                --@ postgres
     + (SELECT count(*) FROM pg_prepared_xacts WHERE owner = $1 AND database = current_database())                       --@ postgres

-- The version of a schema that another role owns; -1 if schema_migrations is not a plain table, because its rules and
-- policies could run code.
--: schema_version_plain()
DO $$                                                                                                                    --@ postgres
DECLARE                                                                                                                  --@ postgres
    name text := current_setting('pawl.schema');                                                                         --@ postgres
    plain boolean;                                                                                                       --@ postgres
    version bigint := 0;                                                                                                 --@ postgres
BEGIN                                                                                                                    --@ postgres
    SELECT c.relkind = 'r' AND NOT c.relrowsecurity AND NOT c.relhasrules INTO plain                                     --@ postgres
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace                                                      --@ postgres
     WHERE n.nspname = name AND c.relname = 'schema_migrations';                                                         --@ postgres
    IF plain THEN                                                                                                        --@ postgres
        EXECUTE format('SELECT COALESCE(max(version), 0) FROM ONLY %I.schema_migrations', name) INTO version;            --@ postgres
    END IF;                                                                                                              --@ postgres
    PERFORM set_config('pawl.version', CASE WHEN plain = false THEN '-1' ELSE version::text END, true);                  --@ postgres
END $$                                                                                                                   --@ postgres

--: schema_version_read()
SELECT current_setting('pawl.version')::bigint                                                                           --@ postgres

-- The reference: a schema made by Pawl's migrations, to compare the tenant's schema with.
--: reference_make(schema text)
SELECT set_config('pawl.reference', $1, true)                                                                            --@ postgres

--: reference_create()
DO $$ BEGIN EXECUTE format('CREATE SCHEMA %I', current_setting('pawl.reference')); END $$                                --@ postgres

--: reference_drop()
DO $$ BEGIN EXECUTE format('DROP SCHEMA %I CASCADE', current_setting('pawl.reference')); END $$                          --@ postgres

--: schema_leave()
SELECT set_config('search_path', 'pg_catalog, pg_temp', true)                                                            --@ postgres

-- Makes the role that the session acts as the owner of the schema and of all that the migrations created in it. Revokes
-- the rights that allow other roles to attach code to a table.
--: schema_take_over()
DO $$                                                                                                                    --@ postgres
DECLARE                                                                                                                  --@ postgres
    name text := current_setting('pawl.schema');                                                                         --@ postgres
    space oid := (SELECT oid FROM pg_namespace WHERE nspname = name);                                                    --@ postgres
    reference oid := (SELECT oid FROM pg_namespace WHERE nspname = current_setting('pawl.reference'));                   --@ postgres
    command text;                                                                                                        --@ postgres
BEGIN                                                                                                                    --@ postgres
    EXECUTE format('ALTER SCHEMA %I OWNER TO %I', name, current_user);                                                   --@ postgres
    FOR command IN                                                                                                       --@ postgres
        SELECT format('ALTER TABLE %s OWNER TO %I', c.oid::regclass, current_user)                                       --@ postgres
          FROM pg_class c                                                                                                --@ postgres
         WHERE c.relnamespace = space AND c.relkind IN ('r', 'p', 'v', 'S')                                              --@ postgres
           AND (c.relname ~ '^execution_events_[0-9]+$'                                                                  --@ postgres
                OR EXISTS (SELECT 1 FROM pg_class m WHERE m.relnamespace = reference AND m.relname = c.relname))         --@ postgres
        UNION ALL                                                                                                        --@ postgres
        SELECT format('ALTER ROUTINE %s OWNER TO %I', p.oid::regprocedure, current_user)                                 --@ postgres
          FROM pg_proc p JOIN pg_proc m ON m.proname = p.proname AND m.proargtypes = p.proargtypes                       --@ postgres
         WHERE p.pronamespace = space AND m.pronamespace = reference                                                     --@ postgres
    LOOP                                                                                                                 --@ postgres
        EXECUTE command;                                                                                                 --@ postgres
    END LOOP;                                                                                                            --@ postgres
    FOR command IN                                                                                                       --@ postgres
        SELECT format('REVOKE %s FROM %s CASCADE', t.what, CASE t.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(t.grantee)) END) --@ postgres
          FROM (SELECT format('%s ON TABLE %s', a.privilege_type, c.oid::regclass) AS what, a.grantee                    --@ postgres
                  FROM pg_class c, aclexplode(c.relacl) a                                                                --@ postgres
                 WHERE c.relnamespace = space AND c.relkind IN ('r', 'p', 'v') AND a.grantee <> c.relowner               --@ postgres
                   AND a.privilege_type NOT IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')                                  --@ postgres
                UNION ALL                                                                                                --@ postgres
                SELECT format('REFERENCES (%I) ON TABLE %s', t.attname, t.attrelid::regclass), a.grantee                 --@ postgres
                  FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid, aclexplode(t.attacl) a                      --@ postgres
                 WHERE c.relnamespace = space AND a.grantee <> c.relowner AND a.privilege_type = 'REFERENCES'            --@ postgres
                UNION ALL                                                                                                --@ postgres
                SELECT format('CREATE ON SCHEMA %I', name), a.grantee                                                    --@ postgres
                  FROM pg_namespace n, aclexplode(n.nspacl) a                                                            --@ postgres
                 WHERE n.oid = space AND a.grantee <> n.nspowner AND a.privilege_type = 'CREATE') t                      --@ postgres
    LOOP                                                                                                                 --@ postgres
        EXECUTE command;                                                                                                 --@ postgres
    END LOOP;                                                                                                            --@ postgres
END $$                                                                                                                   --@ postgres

-- All objects in schema $1, or attached to its tables and views, that could run code and differ from the reference $2.
-- The comparison ignores schema names and partition numbers. An expression that calls only built-in functions can run
-- any SQL (query_to_xml), so expressions are compared as a whole, not searched for calls. An object that is missing is
-- reported too: a guard could be gone, or a table renamed and replaced. The number of partitions may differ.
--: schema_strange(schema text, reference text)
WITH spaces AS (                                                                                                         --@ postgres
    SELECT CASE nspname WHEN $1 THEN 1 ELSE 2 END AS side, oid AS space FROM pg_namespace WHERE nspname IN ($1, $2)      --@ postgres
), named AS (                                                                                                            --@ postgres
    SELECT s.side, c.oid AS id, c.relkind, c.relrowsecurity, c.reltype, c.reloftype,                                     --@ postgres
           regexp_replace(c.relname, '^execution_events_[0-9]+', 'execution_events_N') AS name                           --@ postgres
      FROM pg_class c JOIN spaces s ON s.space = c.relnamespace                                                          --@ postgres
), ours AS (                                                                                                             --@ postgres
    SELECT n.* FROM named n WHERE n.name IN (SELECT m.name FROM named m WHERE m.side = 2)                                --@ postgres
), found(side, label, form) AS (                                                                                         --@ postgres
    SELECT s.side, format('the function %s', p.oid::regprocedure),                                                       --@ postgres
           format('%s(%s) %s %s %s %s %s %s %s', p.proname, pg_get_function_arguments(p.oid), p.prorettype::regtype, p.prolang, --@ postgres
                  p.prokind, p.prosecdef, p.provolatile, p.proconfig, md5(p.prosrc))                                     --@ postgres
      FROM pg_proc p JOIN spaces s ON s.space = p.pronamespace                                                           --@ postgres
    UNION ALL                                                                                                            --@ postgres
    SELECT s.side, format('the operator %s', q.oid::regoperator), format('operator %s', q.oid)                           --@ postgres
      FROM pg_operator q JOIN spaces s ON s.space = q.oprnamespace                                                       --@ postgres
    UNION ALL                                                                                                            --@ postgres
    SELECT s.side, format('the type %s', t.oid::regtype), format('type %s', t.oid)                                       --@ postgres
      FROM pg_type t JOIN spaces s ON s.space = t.typnamespace LEFT JOIN pg_class c ON c.oid = t.typrelid                --@ postgres
     WHERE COALESCE(c.relkind, 'c') = 'c' AND NOT EXISTS (SELECT 1 FROM pg_type e WHERE e.typarray = t.oid)              --@ postgres
    UNION ALL                                                                                                            --@ postgres
    SELECT o.side, format('%s, which is not what Pawl made', o.id::regclass),                                            --@ postgres
           format('relation %s %s %s %s %s', o.name, o.relkind, o.relrowsecurity, o.reloftype, pg_get_partkeydef(o.id))  --@ postgres
      FROM ours o                                                                                                        --@ postgres
    UNION ALL                                                                                                            --@ postgres
    SELECT o.side, format('the trigger %s on %s', t.tgname, o.id::regclass), pg_get_triggerdef(t.oid)                    --@ postgres
      FROM ours o JOIN pg_trigger t ON t.tgrelid = o.id                                                                  --@ postgres
    UNION ALL                                                                                                            --@ postgres
    SELECT o.side, format('the rule %s on %s', r.rulename, o.id::regclass), pg_get_ruledef(r.oid)                        --@ postgres
      FROM ours o JOIN pg_rewrite r ON r.ev_class = o.id                                                                 --@ postgres
    UNION ALL                                                                                                            --@ postgres
    SELECT o.side, format('the policy %s on %s', p.polname, o.id::regclass), format('policy %s', p.oid)                  --@ postgres
      FROM ours o JOIN pg_policy p ON p.polrelid = o.id                                                                  --@ postgres
    UNION ALL                                                                                                            --@ postgres
    SELECT o.side, format('the default or type of the column %s of %s', a.attname, o.id::regclass),                      --@ postgres
           format('column %s.%s %s %s %s', o.name, a.attname, a.atttypid::regtype, a.attgenerated, pg_get_expr(d.adbin, d.adrelid)) --@ postgres
      FROM ours o JOIN pg_attribute a ON a.attrelid = o.id LEFT JOIN pg_attrdef d ON d.adrelid = o.id AND d.adnum = a.attnum --@ postgres
     WHERE a.attnum > 0 AND NOT a.attisdropped AND (d.oid IS NOT NULL OR a.atttypid >= 16384)                            --@ postgres
    UNION ALL                                                                                                            --@ postgres
    SELECT o.side, format('the constraint %s on %s', c.conname, c.conrelid::regclass),                                   --@ postgres
           format('constraint %s of %s: %s', c.conname, c.conrelid::regclass, pg_get_constraintdef(c.oid))               --@ postgres
      FROM ours o JOIN pg_constraint c ON o.id IN (c.conrelid, c.confrelid) WHERE c.contype NOT IN ('p', 'u', 'n')       --@ postgres
    UNION ALL                                                                                                            --@ postgres
    SELECT o.side, format('the index %s', i.indexrelid::regclass),                                                       --@ postgres
           regexp_replace(pg_get_indexdef(i.indexrelid), ' INDEX .* ON (ONLY )?', ' INDEX ON ')                          --@ postgres
      FROM ours o JOIN pg_index i ON i.indrelid = o.id                                                                   --@ postgres
     WHERE i.indexprs IS NOT NULL OR i.indpred IS NOT NULL                                                               --@ postgres
        OR EXISTS (SELECT 1 FROM unnest(i.indclass::oid[] || i.indcollation::oid[]) AS used WHERE used >= 16384)         --@ postgres
    UNION ALL                                                                                                            --@ postgres
    SELECT o.side, format('the table %s, which inherits from %s', h.inhrelid::regclass, h.inhparent::regclass),          --@ postgres
           format('child %s of %s', h.inhrelid::regclass, h.inhparent::regclass)                                         --@ postgres
      FROM ours o JOIN pg_inherits h ON o.id IN (h.inhrelid, h.inhparent)                                                --@ postgres
     WHERE o.relkind IN ('r', 'p')                                                                                       --@ postgres
    UNION ALL                                                                                                            --@ postgres
    SELECT o.side, format('the statistics %s on %s', x.stxname, o.id::regclass), format('statistics %s', x.oid)          --@ postgres
      FROM ours o JOIN pg_statistic_ext x ON x.stxrelid = o.id                                                           --@ postgres
    UNION ALL                                                                                                            --@ postgres
    SELECT o.side, format('the cast of the row type of %s', o.id::regclass), format('cast %s', c.oid)                    --@ postgres
      FROM ours o JOIN pg_cast c ON o.reltype IN (c.castsource, c.casttarget) WHERE o.reltype <> 0                       --@ postgres
), compared AS (                                                                                                         --@ postgres
    SELECT side, label, regexp_replace(replace(replace(form, $2, '@'), $1, '@'), 'execution_events_[0-9]+', 'execution_events_N', 'g') AS form --@ postgres
      FROM found                                                                                                         --@ postgres
)                                                                                                                        --@ postgres
SELECT DISTINCT label FROM compared c                                                                                    --@ postgres
 WHERE side = 1 AND NOT EXISTS (SELECT 1 FROM compared m WHERE m.side = 2 AND m.form = c.form)                           --@ postgres
 UNION                                                                                                                   --@ postgres
SELECT format('%s, which is missing', regexp_replace(replace(label, $2, $1), ', which .*', '')) FROM compared c          --@ postgres
 WHERE side = 2 AND form !~ 'execution_events_N'                                                                         --@ postgres
   AND NOT EXISTS (SELECT 1 FROM compared m WHERE m.side = 1 AND (m.form = c.form OR m.label = replace(c.label, $2, $1))) ORDER BY 1 --@ postgres

-- A tenant's role may read and write rows and call functions; it owns nothing and can't attach code to tables. It
-- accesses partitions through their parent table.
--: schema_grant()
DO $$                                                                                                                    --@ postgres
DECLARE                                                                                                                  --@ postgres
    name text := current_setting('pawl.schema');                                                                         --@ postgres
    command text;                                                                                                        --@ postgres
BEGIN                                                                                                                    --@ postgres
    IF name NOT LIKE 'pawl\_%' THEN                                                                                      --@ postgres
        RETURN;                                                                                                          --@ postgres
    END IF;                                                                                                              --@ postgres
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', name, name);                                                        --@ postgres
    FOR command IN                                                                                                       --@ postgres
        SELECT format('GRANT %s %s TO %I',                                                                               --@ postgres
                      CASE WHEN c.relkind = 'S' THEN 'USAGE, SELECT, UPDATE ON SEQUENCE'                                 --@ postgres
                           WHEN c.relkind = 'v' OR c.relname = 'schema_migrations' THEN 'SELECT ON TABLE'                --@ postgres
                           ELSE 'SELECT, INSERT, UPDATE, DELETE ON TABLE' END, c.oid::regclass, name)                    --@ postgres
          FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace                                                  --@ postgres
         WHERE n.nspname = name AND c.relowner = n.nspowner AND c.relkind IN ('r', 'p', 'v', 'S') AND NOT c.relispartition --@ postgres
        UNION ALL                                                                                                        --@ postgres
        SELECT format('GRANT EXECUTE ON ROUTINE %s TO %I', p.oid::regprocedure, name)                                    --@ postgres
          FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = name AND p.proowner = n.nspowner --@ postgres
    LOOP                                                                                                                 --@ postgres
        EXECUTE command;                                                                                                 --@ postgres
    END LOOP;                                                                                                            --@ postgres
END $$                                                                                                                   --@ postgres
