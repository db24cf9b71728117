#!/usr/bin/env bats
# Tenants that tests reuse (pool.sql): a used tenant equals a new one, or it is not reused.

load cli_common
load cli_run

setup() {
	[ "$PAWL_TEST_DB" = postgres ] || skip 'for PostgreSQL only'
	PAWL_TEST_POOL=$BATS_TEST_TMPDIR/pool
	mkdir "$PAWL_TEST_POOL"
	make_database
	make_state
}
teardown() {
	[ -n "${dir:-}" ] || return 0
	end_all
	PAWL_TEST_POOL=
	remove_database
	[ -z "${other:-}" ] || pawl admin tenant drop "$other" --db "$db"
}

# Puts a row into every table.
use() {
	cat >"$dir/flow.yaml" <<-EOF
		name: used
		on: {schedule: [{cron: "0 0 1 1 *"}], workflow: [{name: other}], webhook: {name: message}}
		tasks:
		  good: echo hello
		  items: {foreach: 3, run: 'true'}
		  bad: {needs: good, run: 'false', retry: {max: 1, delay: 1ms}}
	EOF
	p apply "$dir/flow.yaml"
	p run "$dir/flow.yaml" || [ $? = 1 ]
	p queue set narrow --limit 1
	p admin token create used --scope read >/dev/null
	p admin hook create message >/dev/null
	p exec --detach --key once --delay 1h -- true
	p exec --detach --queue narrow -- true
	p exec --detach --queue narrow -- true
	start_worker --queue narrow
	until_true at_work
	sql "SELECT pawl_submit('used', delay => '1 hour', notify => false)"
	sql "INSERT INTO leases VALUES (100, 1, now(), NULL, 1, 'x'); INSERT INTO schedule_firings VALUES (1, now(), 100);
		INSERT INTO limit_waits VALUES ('x', 1, 100); INSERT INTO task_outbox VALUES ('x', 'x', 1, 100, now())"
}
at_work() { [ "$(p ls --status succeeded --json | wc -l)" -ge 2 ]; }

# Everything that pg_dump prints for a tenant, its role, and its planner statistics, without the parts unique to a
# tenant.
picture() { # tenant
	pg_dump --schema="pawl_$1" "$db" >"$dir/dump"
	pg_dumpall --roles-only --dbname="$db" >"$dir/roles"
	grep "pawl_$1\b" "$dir/roles" >>"$dir/dump"
	psql -qAtX "$db" -c "SELECT test_pool.form('pawl_$1')" | sort >>"$dir/dump"
	sed -E -e '/^\\(un)?restrict /d' -e "s/\\bpawl_$1\\b/TENANT/g" -e 's/^(database_id\t)[0-9a-f]{16}$/\1ID/' \
		-e 's/^([0-9]+\t[a-z_]+\t)[0-9]{4}-[0-9: .+-]+$/\1TIME/' "$dir/dump"
}

@test "tenant that one test used and another reuses equals a new tenant" {
	first=$tenant
	use
	end_all
	unused=$(psql -qAtX "$db" -c "SELECT relname FROM pg_class WHERE relnamespace = 'pawl_$tenant'::regnamespace
		AND relkind = 'r' AND relname !~ '^execution_events_' AND pg_relation_size(oid) = 0 ORDER BY 1")
	same '' "$unused"
	id=$(sql "SELECT value FROM settings WHERE name = 'database_id'")
	[ -n "$id" ]
	next=$(from_pool give_back)
	tenant=$next
	other=new_$$_$RANDOM
	pawl admin tenant create "$other" --db "$db"
	picture "$tenant" >"$dir/used"
	picture "$other" >"$dir/new"
	diff "$dir/new" "$dir/used"
	[ "$(wc -l <"$dir/new")" -gt 500 ]
	[ "$first" != "$tenant" ]
	without "$id" < <(sql 'SELECT value FROM settings')
	p verify
	p run "$dir/flow.yaml" || [ $? = 1 ]
	p verify
}

spoiled() { # change
	local status=0
	psql -qAtX -v ON_ERROR_STOP=1 "$db" >"$dir/out" 2>&1 <<-EOF || status=$?
		BEGIN;
		SET LOCAL search_path = pawl_$tenant;
		$1
		SELECT test_pool.give_back('$PAWL_TEST_POOL', '$tenant');
	EOF
	[ $status = 3 ] && grep -q "the tenant $tenant is not what it was" "$dir/out" || { echo "$1"; cat "$dir/out"; return 1; }
}

@test "tenant whose structure, rights or statistics a test has changed is not reused" {
	while read -r change; do
		spoiled "$change"
	done <<-EOF
		CREATE TABLE mine (a int);
		CREATE VIEW mine AS SELECT 1;
		CREATE TYPE mine AS ENUM ('a');
		CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1';
		CREATE SEQUENCE mine;
		CREATE INDEX mine ON executions (name);
		DROP INDEX executions_roots;
		ALTER TABLE executions ADD COLUMN mine int;
		ALTER TABLE executions ALTER COLUMN error SET NOT NULL;
		ALTER TABLE executions ALTER COLUMN error SET DEFAULT 'x';
		ALTER TABLE limits ADD CHECK (max > 0);
		ALTER TABLE limits SET (fillfactor = 90);
		ALTER TABLE limits OWNER TO pawl_$tenant;
		ALTER TABLE execution_events DISABLE TRIGGER USER;
		ALTER SEQUENCE execution_id INCREMENT 2;
		ALTER FUNCTION pawl_submit SECURITY INVOKER;
		CREATE OR REPLACE VIEW pawl_submissions AS SELECT * FROM pawl_submissions WHERE false;
		SELECT make_event_partitions(5000000);
		DROP TABLE execution_events_2;
		INSERT INTO schema_migrations VALUES (1000, 'mine', now());
		GRANT SELECT ON executions TO PUBLIC;
		GRANT EXECUTE ON FUNCTION pawl_submit TO PUBLIC;
		GRANT USAGE ON SCHEMA pawl_$tenant TO PUBLIC;
		GRANT pg_monitor TO pawl_$tenant;
		ALTER ROLE pawl_$tenant SET work_mem = '1MB';
		ALTER ROLE pawl_$tenant CREATEDB;
	EOF
	tenant=$(from_pool give_back) # none of those changes was kept
	spoiled 'ANALYZE timers;' # this change is kept
	spoiled ''
}

@test "connection that a test leaves open cannot reach its tenant after the tenant is reset for reuse" {
	coproc psql -qAtX "$db" 2>&1
	cat >&"${COPROC[1]}" <<-EOF
		SET search_path = pawl_$tenant;
		SET ROLE pawl_$tenant;
		PREPARE more(bigint) AS INSERT INTO turns (writer, turn, at, schema_version) VALUES (\$1, 1, now(), 1000);
		EXECUTE more(1);
		SELECT 'there: ' || count(*) FROM turns;
	EOF
	read -r line <&"${COPROC[0]}"
	same 'there: 1' "$line"
	tenant=$(from_pool give_back)
	printf 'EXECUTE more(2);\nSELECT 1;\n' >&"${COPROC[1]}"
	read -r line <&"${COPROC[0]}"
	same 'ERROR:  relation "turns" does not exist' "$line"
	same 0 "$(sql 'SELECT count(*) FROM turns')"
	kill "$COPROC_PID"
	same '' "$(psql -qAtX "$db" -c "SELECT test_pool.form('pawl_$tenant')
		EXCEPT SELECT string_to_table(form, E'\\n') FROM test_pool.builds WHERE build = '$PAWL_TEST_POOL'")"
}

in_pool() { [ "$(ls "$PAWL_TEST_POOL" | wc -l)" = "$1" ]; }

@test "test that passes returns its tenant for reuse, and a test that fails does not" {
	BATS_TEST_COMPLETED=1 give_tenant_back
	until_true in_pool 1
	set -- "$PAWL_TEST_POOL"/*
	[ "${1##*/}" != "$tenant" ]
	take_tenant
	[ "${1##*/}" = "$tenant" ]
	! BATS_TEST_COMPLETED= give_tenant_back || false
	[ -z "$(ls "$PAWL_TEST_POOL")" ]

	"$PAWL_TEST_BUILD/tests/test_jobs" attempt_cannot_be_settled_twice
	until_true in_pool 1
	set -- "$PAWL_TEST_POOL"/*
	"$PAWL_TEST_BUILD/tests/test_jobs" attempt_cannot_be_settled_twice
	[ ! -e "$1" ]
	until_true in_pool 1

	take_tenant
	sql 'CREATE TABLE mine (a int)'
	BATS_TEST_COMPLETED=1 give_tenant_back
	"$PAWL_TEST_BUILD/tests/test_jobs" attempt_cannot_be_settled_twice # the keeper takes one tenant after the other
	until_true in_pool 1
}
