#!/usr/bin/env bats
# A server goes away and comes back during `pawl run` and `pawl exec`: they wait for it as a worker does, say so once,
# and can be ended meanwhile. Each test has its own server.

load cli_common
load cli_run

setup() {
	[ "$PAWL_TEST_DB" = postgres ] || skip 'of a server; a file: cli_database_gone.bats'
	dir=$(mktemp -d "${TMPDIR:-/tmp}/pawl-cli.XXXXXX")
	chmod 755 "$dir" # the server runs as another user
	unset PAWL_DB PAWL_TRACE
	make_state
	eval "$("$BATS_TEST_DIRNAME/pg_server" start "$dir/pg" $$ 3>&-)"
	until_go=": $mark; while [ -d $dir ] && [ ! -e $dir/go ]; do sleep 0.1; done"
	printf 'name: w\ntasks: {a: {run: "touch %s; %s"}, b: {needs: a, run: "echo end"}}\n' \
		"$dir/begun" "$until_go" >"$dir/flow.yaml"
}
teardown() {
	[ "$PAWL_TEST_DB" = postgres ] || return 0
	end_all
	"$BATS_TEST_DIRNAME/pg_server" stop "$dir/pg"
	rm -rf "$dir"
}

own() {
	[ "$PAWL_TEST_DB" = postgres ] || return 0
	end_all
	"$BATS_TEST_DIRNAME/pg_server" stop "$pg"
	remove_database
}

own() { pawl --db "$PAWL_TEST_PG_URL" "$@"; }

server() { "$BATS_TEST_DIRNAME/pg_server" ctl "$dir/pg" "$@" 3>&-; }

@test "run and exec report an outage once and continue when the database is back" {
	pawl --db "$PAWL_TEST_PG_URL" run "$dir/flow.yaml" >"$dir/run" 2>&1 3>&- &
	started+=($!)
	run_pid=$!
	pawl --db "$PAWL_TEST_PG_URL" exec -- sh -c "$until_go; echo output" >"$dir/exec" 2>"$dir/exec.stderr" 3>&- &
	started+=($!)
	exec_pid=$!
	until_true test -e "$dir/begun"
	until_true eval 'own ls --json | grep -q "\"kind\":\"exec\".*\"running\""'
	server -m immediate stop
	for file in run exec.stderr; do
		until_true grep -q "can't reach PostgreSQL.*Connection refused" "$dir/$file"
	done
	sleep 2
	[ -z "$(grep -h '^pawl: ' "$dir/run" | sort | uniq -d)" ]
	[ -z "$(grep -h '^pawl: ' "$dir/exec.stderr" | sort | uniq -d)" ]
	touch "$dir/go"
	server start
	wait "$run_pid"
	wait "$exec_pid"
	same output "$(cat "$dir/exec")"
	grep -qE 'completed +w$' "$dir/run"
	own verify
}

@test "run ended during an outage is continued by a worker" {
	pawl --db "$PAWL_TEST_PG_URL" run "$dir/flow.yaml" >"$dir/run" 2>&1 3>&- &
	started+=($!)
	until_true test -e "$dir/begun"
	server -m immediate stop
	until_true grep -q "can't reach PostgreSQL" "$dir/run"
	kill -TERM "${started[0]}"
	status=0
	wait "${started[0]}" || status=$?
	[ "$status" = 6 ]
	grep -q 'was left to the workers of this state folder' "$dir/run"
	server start
	touch "$dir/go"
	own worker --drain
	same succeeded "$(own show @last --json | jq -r .status)"
	own verify
}
