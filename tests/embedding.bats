#!/usr/bin/env bats
# Pawl inside other programs: examples/embed.c with SQLite, examples/pg_submit.c with PostgreSQL, examples/built.c with
# both.

load cli_common
load cli_run

setup() {
	examples=$PAWL_TEST_BUILD/examples
	dir=$BATS_TEST_TMPDIR
	make_state
	cd "$dir"
}

teardown() {
	end_all
	[ -z "${shop:-}" ] || psql -q "$PAWL_TEST_PG_URL" -c "DROP DATABASE $shop WITH (FORCE)"
}

# ---- PostgreSQL ----------------------------------------------------------------------------------------

# Creates a database for the program.
make_db() {
	db=sqlite:$dir/own.db
	[ "$PAWL_TEST_DB" = postgres ] || return 0
	shop=shop_$$_$BATS_TEST_NUMBER
	psql -q "$PAWL_TEST_PG_URL" -c "CREATE DATABASE $shop"
	db=${PAWL_TEST_PG_URL%/*}/$shop
}

# Creates a database for the program, with Pawl's schema in it.
make_shop() {
	[ "$PAWL_TEST_DB" = postgres ] || skip 'for PostgreSQL only'
	make_db
	cat >ship.flow.yaml <<-EOF
		name: ship
		params: {order: {type: integer, required: true}}
		tasks: {pack: {run: 'echo "\$order" >>$dir/packed; : $mark'}}
	EOF
	pawl --db "$db" apply ship.flow.yaml
}

@test "pg_submit: the shop's order and the submission of its workflow are committed in one transaction" {
	make_shop
	[ "$("$examples/pg_submit" "$db" ship 17)" = "order 17: execution 1" ]
	pawl --db "$db" worker --drain
	[ "$("$examples/pg_submit" "$db" --wait 17)" = "order 17: succeeded" ]
	[ "$(cat packed)" = 17 ]
	pawl --db "$db" verify
}

@test "pg_submit: a rollback removes the shop's order and the submission of its workflow" {
	make_shop
	[ "$("$examples/pg_submit" "$db" ship 17 --rollback)" = "order 17: rolled back" ]
	[ "$(psql -qAt "$db" -c 'SELECT count(*) FROM orders')" = 0 ]
	[ -z "$(pawl --db "$db" submissions --json)" ]
	pawl --db "$db" worker --drain
	[ ! -e packed ]
	pawl --db "$db" verify
}

@test "pg_submit: a refused submission rolls back the shop's order" {
	make_shop
	run "$examples/pg_submit" "$db" shop 17
	[ "$status" = 1 ]
	[[ $output == *"no workflow is applied under the name 'shop'"* ]]
	run "$examples/pg_submit" "$db" ship null
	[[ $output == *'invalid input syntax'* ]]
	[ "$(psql -qAt "$db" -c 'SELECT count(*) FROM orders')" = 0 ]
}

# ---- SQLite --------------------------------------------------------------------------------------------

make_bills() {
	[ "$PAWL_TEST_DB" = sqlite ] || skip 'for SQLite only'
}

@test "embed: bill and its job are committed together, and the job's result is stored with the bill" {
	make_bills
	run timeout 300 "$examples/embed" shop.db 17 4711
	echo "$output"
	[ "$status" = 0 ]
	[ "$(grep -c '"type":"task.completed"' <<<"$output")" = 2 ]
	[ "$(tail -n 2 <<<"$output" | paste -sd,)" = 'bill 17: 8,bill 4711: 13' ]
	timeout 300 "$examples/embed" shop.db 17 | tail -n 2 >again
	[ "$(paste -sd, again)" = 'bill 17: 8,bill 4711: 13' ]
	[ "$(pawl --db sqlite:shop.db ls --json | wc -l)" = 2 ]
	pawl --db sqlite:shop.db verify
}

@test "embed: every bill gets its result even if the program is killed at any point" {
	make_bills
	for n in $(seq 1 12); do
		"$examples/embed" shop.db "$n" $((n + 100)) >out 2>&1 3>&- &
		started=($!)
		sleep "0.0$((RANDOM % 10))"
		kill -9 $! 2>/dev/null || true
		wait $! || true
	done
	timeout 300 "$examples/embed" shop.db 999 | grep '^bill' >bills
	without open <bills
	[ "$(wc -l <bills)" = "$(pawl --db sqlite:shop.db ls --json --limit 100 | wc -l)" ]
	grep -qx 'bill 999: 27' bills
	pawl --db sqlite:shop.db verify
}

# ---- both ----------------------------------------------------------------------------------------------

@test "built: workflow built in C runs, and building it again returns the same execution" {
	make_db
	[ "$(timeout 300 "$examples/built" "$db" 3 4)" = '"result":{"sum":25}' ]
	[ "$(timeout 300 "$examples/built" "$db" 3 4)" = '"result":{"sum":25}' ]
	[ "$(timeout 300 "$examples/built" "$db" 1 2 3 4)" = '"result":{"sum":30}' ]
	[ "$(pawl --db "$db" ls --json | wc -l)" = 2 ]
	pawl --db "$db" verify
}

@test "built: failed run is reported, and a malformed number is a usage error" {
	make_db
	status=0 && timeout 300 "$examples/built" "$db" 3 4000000000 >out 2>errors || status=$?
	[ "$status" = 1 ] && [ ! -s out ]
	[ "$(cat errors)" = 'built: execution 1 is failed: `pawl why 1` explains it' ]
	pawl --db "$db" why 1 | grep 'its square needs more than 64 bits'
	for words in '' x '3 4x' '3 -'; do
		status=0 && "$examples/built" "$db" $words 2>errors || status=$?
		[ "$status" = 2 ]
		grep '^usage: built DB NUMBER' errors
	done
	pawl --db "$db" verify
}

# ---- the library as other programs link it -------------------------------------------------------------

@test "shared library exports exactly the functions that pawl.h declares" {
	[ -e "$PAWL_TEST_BUILD/libpawl.so" ] || skip 'it is not built'
	header=$BATS_TEST_DIRNAME/../include/pawl.h
	nm -D --defined-only "$PAWL_TEST_BUILD/libpawl.so" | awk '{ print $3 }' | sort >shown
	tr '\n' ' ' <"$header" | grep -oE '\bPAWL_(API|CHECKED) [^;(]*\(' | grep -oE 'pawl_[a-z_0-9]+\($' | tr -d '(' | sort >declared
	[ "$(wc -l <declared)" -gt 60 ]
	diff declared shown
}

@test "pawl.h compiles as C++, where PAWL_LIST is refused because it would dangle" {
	command -v g++ >/dev/null || skip 'there is no g++'
	check() { g++ -std=c++17 -Wall -Wextra -pedantic -Werror -fsyntax-only "-I$BATS_TEST_DIRNAME/../include" -x c++ -; }
	printf '#include <pawl.h>\nint main() { pawl_task_keys k{}; return !k.needs; }\n' | check
	printf '#include <pawl.h>\nint main() { pawl_task_keys k{}; k.needs = PAWL_LIST("a"); return !k.needs; }\n' >list.cc
	check <list.cc 2>errors && false
	grep -q PAWL_LIST errors
}

@test "every function in pawl.h has a comment" {
	awk '/^PAWL_(API|CHECKED)/ && !explained && !/\/\*/ { print; bad = 1 }
		{ explained = /\*\/ *$/ || (explained && (/^PAWL_/ || /^ +[a-z].*[,;]$/ || /^typedef/)) }
		END { exit bad }' "$BATS_TEST_DIRNAME/../include/pawl.h"
}

@test "pawl.h starts with a list of its sections" {
	header=$BATS_TEST_DIRNAME/../include/pawl.h
	sed -n 's,^/\* ---- \(.*\) ---- \*/$,\1,p' "$header" >parts
	sed -n '/^ \* The parts/,/^#/s/^ \*     \(.*[^ ]\)   *[^ ].*/\1/p' "$header" | sed 's/  .*//' >listed
	[ "$(wc -l <parts)" -gt 10 ]
	diff parts listed
}
