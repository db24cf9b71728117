#!/usr/bin/env bats
# Every command's main path under valgrind: no invalid access and no definite leak. The short run covers some commands
# on SQLite, the full run all of them on both databases. TEST_LONG

load cli_common
load cli_run
load cli_all_commands

setup() {
	command -v valgrind >/dev/null || skip 'valgrind is not installed'
	[[ $PAWL_TEST_BUILD != */asan ]] || skip 'a sanitizer has looked at this already'
	[ -n "${PAWL_TEST_FULL:-}" ] || [ "$PAWL_TEST_DB" = sqlite ] || skip 'in the full run only'
	make_database
	make_state
}
teardown() {
	[ -n "${dir:-}" ] || return 0
	end_all
	remove_database
}

watched() { # json words...
	local status=0
	shift
	valgrind -q --leak-check=full --errors-for-leak-kinds=definite --error-exitcode=99 \
		"$(command -v pawl)" --db "$db" --tenant "$tenant" "$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
	[ $status = 0 ] && ! grep -q '^==' "$dir/err" || {
		cat "$dir/err"
		return 1
	}
}

# The commands with the most code of their own: views, the engine, schedules.
SHORT='/^\(run FLOW\|exec -- .*\|tree RUN\|top\|logs GOOD\|rerun RUN --failed\|apply TIMED\)$/!d'

@test "commands with the most code run without a memory error or leak; in the full run, every command does" {
	walk watched "$([ -n "${PAWL_TEST_FULL:-}" ] || echo "$SHORT")"
}

# Several items end in one turn, and the lists of the items that start next are larger than what a store keeps in
# memory.
@test "nested fan-outs run without a memory error or leak" {
	[ -n "${PAWL_TEST_FULL:-}" ] || skip 'in the full run only'
	cat >"$dir/inner.yaml" <<-'END'
		name: inner
		tasks:
		  a: {foreach: 1, run: 'true'}
		  b: {foreach: [], run: 'true'}
		  c: {foreach: [], run: 'true'}
		  d: {foreach: [], run: 'true'}
	END
	printf 'name: outer\ntasks: {o: {foreach: 24, max_parallel: 8, workflow: inner.yaml}}\n' >"$dir/outer.yaml"
	watched '' run "$dir/outer.yaml"
	run pawl --db "$db" --tenant "$tenant" verify
	[ "$status" = 0 ]
}

@test "failing commands end without a memory error or leak" {
	for words in 'show 12345' 'frobnicate' 'ls --status x' 'run /nowhere.yaml' 'events x' 'queue set q --limit x'; do
		status=0
		valgrind -q --leak-check=full --errors-for-leak-kinds=definite --error-exitcode=99 \
			"$(command -v pawl)" --db "$db" --tenant "$tenant" $words >"$dir/out" 2>&1 || status=$?
		{ [ $status = 2 ] || [ $status = 5 ]; } && ! grep '^==' "$dir/out" || { echo "$words: $status"; cat "$dir/out"; false; }
		[ -n "${PAWL_TEST_FULL:-}" ] || [ "$words" != 'ls --status x' ] || break
	done
}
