#!/usr/bin/env bats
# pawl admin routes: routes are stored in the database, and every job follows them.

load cli_common
load cli_run

executor_of() { p show "$1" --json | jq -r .executor; }

@test "admin routes shows the routes, sets them from arguments or a file, clears them, and records the user" {
	same $'other commands -> process\n(default; not set in the database)' "$(p admin routes)"
	p admin routes set 'ml::*=gpu' 'a=b::?=container' --default gpu --reason 'new hosts' >"$dir/out" 2>"$dir/err"
	same $'ml::* -> gpu\na=b::? -> container\nother commands -> gpu' "$(head -n 3 "$dir/out")"
	[[ $(sed -n 4p "$dir/out") == 'changed '*" by $(id -un)@"*': new hosts' ]]
	same 'pawl: no worker has the executor "gpu": tasks that are routed to it wait' "$(cat "$dir/err")"
	printf 'dispatch: {routes: [{task: x, executor: here}]}\nexecutors: {here: {type: process}}\n' >"$dir/here.yaml"
	p admin routes set --file "$dir/here.yaml" >/dev/null
	p admin routes --json 2>/dev/null |
		grep -q '^{"routes":\[{"task":"x","executor":"here"}\],"default_executor":"process","unknown_executors":\["here"\],'
	p admin routes clear >"$dir/out"
	same 'other commands -> process' "$(head -n 1 "$dir/out")"
	refused 2 "pawl admin routes has no subcommand 'list'" p admin routes list
	refused 2 "'gpu' is not a route" p admin routes set gpu
	refused 2 'or `--file FILE` alone' p admin routes set
	refused 2 'or `--file FILE` alone' p admin routes set --file "$dir/here.yaml" x=y
	refused 2 'belong to `pawl admin routes set`' p admin routes clear x=y
	refused 2 'route 1 (x): the executor "function" runs functions, not commands' p admin routes set x=function
	refused 5 "$dir/none.yaml" p admin routes set --file "$dir/none.yaml"
	p verify
}

@test "applied workflow runs on the same executor for every submitter, and a change reaches its pending tasks" {
	executors='executors: {one: {type: process}, two: {type: process}}'
	printf '%s\ndispatch: {routes: [{task: "w::*", executor: one}]}\n' "$executors" >"$dir/first.yaml"
	printf '%s\ndispatch: {routes: [{task: "w::*", executor: two}]}\n' "$executors" >"$dir/second.yaml"
	cat >"$dir/w.yaml" <<-EOF
		name: w
		on: {schedule: {cron: "@yearly", overlap: allow}}
		tasks:
		  a: {run: "while ! [ -e '$dir/go' ]; do sleep 0.05; done"}
		  b: {run: "true", needs: a}
	EOF
	p apply "$dir/w.yaml" >/dev/null
	ids=$(PAWL_CONFIG=$dir/first.yaml p submit w)
	start_worker --config "$dir/second.yaml" --slots 8
	ids+=" $(p submit w)"
	ids+=" $(PAWL_CONFIG=$dir/second.yaml p schedule run w/1 --json | jq .id)"
	[ "$PAWL_TEST_DB" = sqlite ] || ids+=" $(sql "SELECT pawl_submit('w')")"
	all_run() { for id in $ids; do [ "$(p tree "$id" --json | jq -r '.children[0].status')" = running ] || return 1; done; }
	until_true all_run
	for id in $ids; do
		same 'one null' "$(p tree "$id" --json | jq -r '[.children[].executor | tostring] | join(" ")')"
	done
	p admin routes set 'w::*=two' >/dev/null
	touch "$dir/go"
	all_end() { for id in $ids; do has_status "$id" succeeded || return 1; done; }
	until_true all_end
	for id in $ids; do
		same 'one two' "$(p tree "$id" --json | jq -r '[.children[].executor] | join(" ")')"
	done
	[ "$(grep -c 'second.yaml: .* differ from the database' "$worker_log")" = 1 ]
	p verify
}

@test "validate, apply, submit, run and exec warn about an executor that no worker has" {
	printf 'executors: {gpu: {type: custom}}\n' >"$dir/gpu.yaml"
	export PAWL_CONFIG=$dir/gpu.yaml
	printf 'name: w\ntasks:\n  a: {executor: gpuu, with: {n: 1}}\n' >"$dir/w.flow.yaml"
	warning='w.flow.yaml:3:3: warning: tasks.a names the executor "gpuu", which no worker has served yet: the task waits until a worker has it; did you mean "gpu"?'
	in_json='[.warnings[] | "\(.file):\(.line):\(.column): warning: \(.warning)"] | join("\n")'

	p verify >/dev/null # creates the database
	p validate "$dir/w.flow.yaml" >"$dir/out" 2>"$dir/err"
	same "$dir/w.flow.yaml: w, 1 task" "$(cat "$dir/out")"
	same "$warning" "$(cat "$dir/err")"
	same "$warning" "$(p validate --json "$dir/w.flow.yaml" 2>/dev/null | jq -r "$in_json")"

	p apply --json "$dir/w.flow.yaml" >"$dir/out" 2>"$dir/err"
	same "$warning" "$(jq -r "$in_json" "$dir/out")"
	same "$warning" "$(cat "$dir/err")"

	for what in w "$dir/w.flow.yaml"; do
		p submit "$what" >"$dir/out" 2>"$dir/err"
		same "$warning" "$(cat "$dir/err")"
		[[ $(p why "$(($(cat "$dir/out") + 1))") == *'no worker has served the executor "gpuu" yet; did you mean "gpu"?' ]]
	done
	p exec --detach --executor gpuu -- true >/dev/null 2>"$dir/err"
	same 'pawl: warning: the job names the executor "gpuu", which no worker has served yet: the job waits until a worker has it; did you mean "gpu"?' \
		"$(cat "$dir/err")"

	# a foreground run has only the executors of its own process, also if a worker has others
	p run "$dir/w.flow.yaml" --progress none 2>"$dir/err" &
	pid=$!
	waits() { p show @last --json | jq -e '.queue | startswith("here:")' >/dev/null; }
	until_true waits
	grep -q 'warning: tasks.a names the executor "gpuu", which this process does not have' "$dir/err"
	p cancel @last >/dev/null
	wait "$pid" || [ $? = 3 ]

	# no warning: the file of the submitter has the executor
	printf 'name: w\ntasks:\n  a: {executor: gpu, with: {n: 1}}\n' >"$dir/w.flow.yaml"
	p validate "$dir/w.flow.yaml" 2>"$dir/err"
	p submit "$dir/w.flow.yaml" 2>>"$dir/err"
	[ ! -s "$dir/err" ]
	p verify
}

@test "validate of a file that names an executor works without a database" {
	printf 'tasks:\n  a: {executor: gpu}\n' >"$dir/w.flow.yaml"
	run pawl --db "sqlite:$dir/none.db" validate "$dir/w.flow.yaml"
	same "$dir/w.flow.yaml: w, 1 task" "$output"
	[ ! -e "$dir/none.db" ]
	run timeout 100 pawl --db "postgres://nobody@127.0.0.1:1/none" validate "$dir/w.flow.yaml"
	same "$dir/w.flow.yaml: w, 1 task" "$output"
}
