#!/usr/bin/env bats
# Workflow files: validate, graph, schema, run and submit; the examples run unchanged.
# TEST_POLL_TOO

load cli_common
load cli_run

setup() {
	make_database
	make_state
	examples=$(cd "$BATS_TEST_DIRNAME/../examples" && pwd)
}
teardown() {
	end_all
	remove_database
}

x() { # command...
	status=0
	p "$@" >"$dir/stdout" 2>"$dir/stderr" || status=$?
	output=$(cat "$dir/stdout")
}

@test "every example is a valid workflow and can be drawn" {
	for file in "$examples"/*.flow.yaml; do
		x validate "$file"
		[ "$status" = 0 ]
		x graph "$file"
		[ "$status" = 0 ]
		[ -n "$output" ]
	done
	x schema
	[ "$status" = 0 ]
	[[ $output == *'draft-07'* ]]
}

@test "invalid file is refused with all its errors and their locations, and nothing is stored" {
	cat >"$dir/bad.flow.yaml" <<-'EOF'
		name: bad
		tasks:
		  a: {run: "echo hi", nedds: b}
		  b: {run: "echo", needs: gone}
	EOF
	x validate "$dir/bad.flow.yaml"
	[ "$status" = 2 ]
	grep -q 'bad.flow.yaml:3:' "$dir/stdout" "$dir/stderr"
	grep -q 'bad.flow.yaml:4:' "$dir/stdout" "$dir/stderr"
	grep -q 'needs' "$dir/stdout" "$dir/stderr"
	x run "$dir/bad.flow.yaml"
	[ "$status" = 2 ]
	x submit "$dir/bad.flow.yaml"
	[ "$status" = 2 ]
	x show @last
	[ "$status" != 0 ]
}

@test "run, submit, apply and graph read a workflow file exactly once" {
	printf 'name: w\ntasks: {a: {run: "true"}}\n' >"$dir/w.flow.yaml"
	for command in 'run --progress none' submit apply graph; do
		# shellcheck disable=SC2086 # the options are words
		strace -o "$dir/trace" -e trace=open,openat,openat2 \
			pawl $command "$dir/w.flow.yaml" --db "$db" --tenant "$tenant"
		[ "$(grep -c 'w\.flow\.yaml' "$dir/trace")" = 1 ]
	done
	[ "$(p ls --json | wc -l)" = 2 ]
}

@test "run executes a workflow with retries and fan-out in the foreground and prints its events" {
	cat >"$dir/flow.yaml" <<-'EOF'
		name: demo
		params: {n: {type: integer, default: 2}}
		tasks:
		  first: {run: 'echo v=7 >> "$PAWL_OUTPUT"'}
		  each: {needs: first, foreach: "${{ range(params.n) }}", run: 'echo "i=$ITEM" >> "$PAWL_OUTPUT"'}
		  flaky: {needs: first, retry: {max: 2, delay: 1ms}, run: 'test "$PAWL_ATTEMPT" -ge 2'}
		  last: {needs: [each, flaky], argv: [test, "${{ tasks.first.outputs.v }}", =, "7"]}
		outputs: {all: "${{ tasks.each.outputs }}"}
	EOF
	x run "$dir/flow.yaml" --param n=3
	[ "$status" = 0 ]
	[[ $output == *'completed        demo::each[2]'* ]]
	[[ $output == *'retry_scheduled  demo::flaky'* ]]
	[[ $output == *'completed        demo' ]]
	x show @last --json
	[[ $output == *'"status":"succeeded"'* ]]
	[[ $output == *'{"status":"succeeded","outputs":{"i":"2"},"item":2,"error":null}'* ]]
	x run "$dir/flow.yaml" --param n=x
	[ "$status" = 2 ]
	[[ $(cat "$dir/stderr") == *'the param n must be an integer'* ]]
	x verify
	[ "$status" = 0 ]
}

@test "failed run exits with 1 and names the failed task" {
	printf 'name: w\ntasks:\n  a: {run: exit 3}\n  b: {run: true, needs: a}\n' >"$dir/flow.yaml"
	x run "$dir/flow.yaml"
	[ "$status" = 1 ]
	[[ $output == *'skipped          w::b'* ]]
	[[ $(cat "$dir/stderr") == *'a failed: exited with code 3'* ]]
	x verify
	[ "$status" = 0 ]
}

@test "examples without an approval run to their end" {
	for name in hello diamond fan-out nested retry-fallback; do
		x run "$examples/$name.flow.yaml"
		[ "$status" = 0 ] || { cat "$dir/stdout" "$dir/stderr"; return 1; }
	done
	x verify
	[ "$status" = 0 ]
}

@test "submitted workflow is finished by workers even if the first one is killed" {
	cat >"$dir/flow.yaml" <<-EOF
		name: w
		tasks:
		  a: {run: 'touch $dir/begun; while [ ! -e $dir/go ]; do sleep 0.02; done; : $mark'}
		  b: {run: 'touch $dir/after', needs: a}
	EOF
	x submit "$dir/flow.yaml"
	[ "$status" = 0 ]
	id=$output
	start_worker
	until_true test -e "$dir/begun"
	kill -9 "$worker"
	start_worker
	touch "$dir/go"
	until_true eval 'p show $id --json | grep -q "\"status\":\"succeeded\""'
	[ -e "$dir/after" ]
	x events "$id"
	[[ $output == *adopted* ]]
	[ "$(grep -c 'task.claimed' <<<"$output")" = 2 ]
	x verify
	[ "$status" = 0 ]
}

@test "cancel ends a running workflow" {
	printf 'name: w\ntasks:\n  a: {run: "sleep 100; : %s"}\n  b: {run: true, needs: a}\n' "$mark" >"$dir/flow.yaml"
	x submit "$dir/flow.yaml"
	id=$output
	start_worker
	until_true eval 'p events $id | grep -q task.started'
	x cancel "$id"
	[ "$status" = 0 ]
	until_true eval 'p show $id --json | grep -q "\"status\":\"cancelled\""'
	x verify
	[ "$status" = 0 ]
}

@test "run that is stuck prints the reason" {
	printf 'name: w\ntasks: {ask: {approval: "publish?", run: "true"}, far: {needs: ask, executor: moon, run: "true"}}\n' >"$dir/flow.yaml"
	p run "$dir/flow.yaml" --progress plain >"$dir/stdout" 2>"$dir/stderr" 3>&- &
	started+=($!)
	until_true grep -qE 'w::ask \([0-9]+\) is not running: it has been waiting for approval .*: publish\?; `pawl approve [0-9]+`' "$dir/stderr"
	p approve "$(sed -n 's/.*`pawl approve \([0-9]*\)`.*/\1/p' "$dir/stderr")"
	until_true grep -qE 'w::far \([0-9]+\) is not running: .*lane moon' "$dir/stderr"
	sleep 2.5 # time enough for a repetition: each reason must be printed once
	[ "$(grep -c 'is not running' "$dir/stderr")" = 2 ]
	p cancel @last
	status=0
	wait $! || status=$?
	[ "$status" = 3 ]
	grep -qE '^[0-9:]+  cancelled        w$' "$dir/stdout" # a cancel needs no explanation
	grep -qxE 'pawl: execution [0-9]+ cancelled' "$dir/stderr"
}

@test "run prints why its workflow, fan-out or nested workflow is held" {
	printf 'name: below\ntasks: {x: "true"}\n' >"$dir/below.yaml"
	cat >"$dir/flow.yaml" <<-'END'
		name: w
		concurrency: alone
		tasks:
		  nested: {approval: "nested?", workflow: below.yaml}
		  each: {needs: nested, approval: "each?", foreach: 2, run: "true"}
	END
	pawl --db "$db" --tenant "$tenant" run "$dir/flow.yaml" --progress plain >"$dir/stdout" 2>"$dir/stderr" 3>&- &
	first=$!
	started+=($first)
	until_true grep -qE 'nested \([0-9]+\) is not running: it has been waiting for approval .*: nested\?; `pawl approve [0-9]+`' "$dir/stderr"
	pawl --db "$db" --tenant "$tenant" run "$dir/flow.yaml" --progress plain >"$dir/stdout" 2>"$dir/second" 3>&- &
	started+=($!)
	until_true grep -qE 'w \([0-9]+\) is not running: .*alone' "$dir/second"
	p approve "$(sed -n 's/.*`pawl approve \([0-9]*\)`.*/\1/p' "$dir/stderr")"
	until_true grep -qE 'each \([0-9]+\) is not running: it has been waiting for approval .*: each\?' "$dir/stderr"
	p approve "$(sed -n 's/.*`pawl approve \([0-9]*\)`.*/\1/p' "$dir/stderr" | tail -n1)"
	wait $first
	[ "$(grep -c 'is not running' "$dir/stderr")" = 2 ]
}

@test "fan-out over a string is refused, and the error says how to write a list" {
	for list in tasks.a.outputs.list 'fromJSON(tasks.a.outputs.list)'; do
		printf 'name: w\ntasks:\n  a: {run: "echo list=[1,2] >>$PAWL_OUTPUT"}\n  b: {needs: a, foreach: "${{ %s }}", run: "true"}\n' "$list" >"$dir/flow.yaml"
		x run "$dir/flow.yaml" --progress none
		[ "$list" = tasks.a.outputs.list ] || break
		[ "$status" = 1 ]
		grep -q 'not a string: fromJSON() converts a string to a list' "$dir/stderr"
	done
	[ "$status" = 0 ]
}

nested() { # levels
	printf '[%.0s' $(seq "$1")
	printf ']%.0s' $(seq "$1")
}

@test "too deeply nested param is refused with the limit, and nothing is stored" {
	printf 'name: deep\nparams: {p: {type: list}}\ntasks: {a: "true"}\n' >"$dir/flow.yaml"
	for levels in 64 2046 2047 2048 5000; do
		for command in run submit; do
			x "$command" "$dir/flow.yaml" --param "p=$(nested "$levels")"
			[ "$status" = 2 ]
			[[ $(cat "$dir/stderr") == *"the params object with the param p nests lists and objects $((levels + 1)) levels deep; at most 64 are allowed"* ]]
		done
	done
	[ "$(sql 'SELECT count(*) FROM executions')" = 0 ]
	x run "$dir/flow.yaml" --param "p=$(nested 63)"
	[ "$status" = 0 ]
	x rerun @last --set "p=$(nested 64)"
	[ "$status" = 2 ]
	[[ $(cat "$dir/stderr") == *'65 levels deep; at most 64 are allowed'* ]]
	p verify
}

@test "too deeply nested output fails its task, and the run ends" {
	printf '{"o": %s}\n' "$(nested 2046)" >"$dir/deep"
	cat >"$dir/flow.yaml" <<-EOF
		name: deep
		tasks:
		  each: {foreach: 2, run: 'cat $dir/deep >>"\$PAWL_OUTPUT"'}
		  sum: {needs: each, run: 'true', env: {ALL: "\${{ tasks.each.outputs }}"}}
	EOF
	x run "$dir/flow.yaml"
	[ "$status" = 1 ]
	[[ $(p show @last) == *failed*'line 1 of $PAWL_OUTPUT: it nests lists and objects 2047 levels deep; at most 64 are allowed'* ]]
	p verify
}

@test "param that is too large for a variable is refused if a script reads it, and can be read from a file" {
	value=$(head -c 200000 /dev/zero | tr '\0' x)
	cat >"$dir/flow.yaml" <<-EOF
		name: large
		params: {data: {type: string, default: $value}}
		tasks:
		  other: echo other
		  file: {files: {data: '\${{ params.data }}'}, run: 'wc -c <"\$data"'}
		  input: {stdin: '\${{ params.data }}', run: wc -c}
	EOF
	x run "$dir/flow.yaml" --progress none
	[ "$status" = 0 ]
	same '200000
200000' "$(p logs "$(p ls --all --name large::file --json | jq .id)"; p logs "$(p ls --all --name large::input --json | jq .id)")"
	sed -i 's/echo other/echo "${data#x}"/' "$dir/flow.yaml"
	for command in run submit; do
		x "$command" "$dir/flow.yaml"
		[ "$status" = 2 ]
		[[ $(cat "$dir/stderr") == *'task other: the value of data is too large for an environment variable'*'at most 131071 are possible'*'key files'* ]]
	done
	[ "$(sql 'SELECT count(*) FROM executions WHERE parent IS NULL')" = 1 ]
	p verify
}
