#!/usr/bin/env bats
# pawl exec: a command in the foreground, and one left to a worker.

load cli_common
load cli_run

# Runs a command and keeps its exit code and output for the test; stderr is in $dir/stderr.
x() {
	status=0
	p exec "$@" >"$dir/stdout" 2>"$dir/stderr" || status=$?
	output=$(cat "$dir/stdout")
}

@test "exec runs in the foreground in the caller's folder and shows output and outcome" {
	cd "$dir"
	x -- sh -c 'pwd; echo to stderr >&2; printf "no line end"'
	[ "$status" = 0 ]
	same "$dir
to stderr
no line end" "$output"
	same '' "$(cat "$dir/stderr")"
	id=$(p show @last --json | sed 's/{"id":\([0-9]*\),.*/\1/')
	same "exec::sh here:$id succeeded 1" "$(p show "$id" --json |
		sed 's/.*"name":"\([^"]*\)","status":"\([a-z]*\)","attempt":\([0-9]*\).*"queue":"\([^"]*\)".*/\1 \4 \2 \3/')"
	same "$dir
to stderr
no line end" "$(p logs "$id")"
	p verify
}

@test "exit code of exec reports the outcome" {
	x -- sh -c 'exit 3'
	[ "$status" = 1 ]
	[[ $(cat "$dir/stderr") == 'pawl: execution '*': exited with code 3' ]]
	x -- sh -c 'kill -9 $$'
	[ "$status" = 1 ]
	[[ $(cat "$dir/stderr") == *'signal'* ]]
	x --timeout 200ms -- sleep 60
	[ "$status" = 4 ]
	x -- "$dir/there-is-no-such-program"
	[ "$status" = 1 ]
	[[ $(cat "$dir/stderr") == *"can't execute $dir/there-is-no-such-program: No such file or directory" ]]
	p verify
}

@test "output of all attempts is shown in full and in order" {
	x --retry 2 -- sh -c 'seq $PAWL_ATTEMPT$PAWL_ATTEMPT; [ $PAWL_ATTEMPT = 3 ]'
	[ "$status" = 0 ]
	same "$(seq 11; seq 22; seq 33)" "$output"
	x -- seq 50000
	same "$(seq 50000)" "$output"
	x -- sh -c 'seq 400000'
	[ "$status" = 0 ]
	[[ $(cat "$dir/stderr") == 'pawl: '*' bytes of output are missing here' ]]
	same 400000 "$(tail -n 1 "$dir/stdout")"
	same "$(seq 10)" "$(head "$dir/stdout")"
	p verify
}

@test "output is shown while the command runs" {
	p exec -- sh -c "echo first; : $mark; while [ ! -e '$dir/go' ]; do sleep 0.05; done; echo last" >"$dir/stdout" 3>&- &
	started+=($!)
	until_true grep -q first "$dir/stdout"
	same first "$(cat "$dir/stdout")"
	touch "$dir/go"
	wait_for "${started[0]}"
	[ "$status" = 0 ]
	same $'first\nlast' "$(cat "$dir/stdout")"
}

@test "options set the name and the environment of the job" {
	x --name nightly --env GREETING=hello --env TO='you and me' --cwd / --priority -5 --retry 4 --timeout 1m -- \
		sh -c 'echo "$GREETING $TO $(pwd) $PAWL_EXECUTION_ID"'
	[ "$status" = 0 ]
	id=$(p show @last --json | sed 's/{"id":\([0-9]*\),.*/\1/')
	same "hello you and me / $id" "$output"
	[[ $(p show @last --json) == *'"name":"exec::nightly"'*'"max_attempts":5,'*'"priority":-5,'* ]]
	mkdir "$dir/below"
	cd "$dir"
	x --cwd below -- pwd
	same "$dir/below" "$output"
}

@test "command that can't be run is refused before anything is stored" {
	refused 2 'needs more arguments' p exec
	refused 2 "pawl exec has no option '-l'" p exec ls -l
	refused 2 "--priority needs a whole number from -1000000 to 1000000, but got 'high'" p exec --priority high -- true
	refused 2 "the environment entry 'FOO' has no '=': write NAME=VALUE" p exec --env FOO -- true
	refused 2 "--delay" p exec --delay soon -- true
	PAWL_EXECUTION_ID=x PAWL_DB=$db PAWL_TENANT=$tenant refused 2 'PAWL_EXECUTION_ID' pawl exec -- true
	refused 5 'the parent, execution 777, does not exist' env PAWL_EXECUTION_ID=777 PAWL_DB="$db" \
		PAWL_TENANT="$tenant" pawl exec -- true
	same '' "$(p events)"
}

@test "exec --json prints the execution on stdout and the output on stderr" {
	x --json -- sh -c 'echo hello; echo n=7 >>"$PAWL_OUTPUT"'
	[ "$status" = 0 ]
	[[ $output == '{"id":'*',"name":"exec::sh","status":"succeeded",'*'"outputs":{"n":"7"}'* ]]
	[ "$(wc -l <"$dir/stdout")" = 1 ]
	same hello "$(cat "$dir/stderr")"
	x --json --detach -- true
	[[ $output == '{"id":'*',"status":"ready",'*'"queue":"default"'* ]]
}

@test "exec inside a task creates a child of the task unless --no-parent is given" {
	x -- pawl exec -- sh -c 'pawl exec --no-parent -- true; echo done'
	[ "$status" = 0 ]
	same done "$output"
	[ "$(p events --type created --json | wc -l)" = 3 ]
	mapfile -t ids < <(p events --type created --json | sed 's/.*"execution":\([0-9]*\),.*/\1/' | sort -n)
	[[ $(p show "${ids[1]}" --json) == *"\"parent\":${ids[0]},\"root\":${ids[0]},\"depth\":1,"* ]]
	[[ $(p show "${ids[2]}" --json) == *'"parent":null,'* ]]
	x -- pawl exec --db "sqlite:$dir/other.db" -- true
	[ "$status" = 0 ]
	[[ $(pawl show 1 --db "sqlite:$dir/other.db" --json) == *'"parent":null,'* ]]
	p verify
}

@test "exec with a known idempotency key returns the same execution" {
	x --key k -- sh -c "echo once >>'$dir/ledger'"
	x --key k -- sh -c "echo once >>'$dir/ledger'"
	[ "$status" = 0 ]
	[[ $(cat "$dir/stderr") == *'execution '*' was submitted with this key before: waiting for it' ]]
	same once "$(cat "$dir/ledger")"
	x --key k -- true
	[ "$status" = 2 ]
	p verify
}

@test "exec --detach queues the command and prints its id" {
	id=$(p exec --detach --queue reports --delay 100ms --name later -- sh -c 'echo from a worker; exit 3')
	[[ $id =~ ^[0-9]+$ ]]
	[[ $(p show "$id" --json) == *'"status":"ready"'*'"queue":"reports"'* ]]
	p worker --queue reports --drain 2>"$dir/stderr"
	has_status "$id" failed
	same 'from a worker' "$(p logs "$id")"
	p verify
}

# Runs pawl itself in the background, without a shell in between, so that signals reach it. "env" is needed because a
# background job of a shell ignores Ctrl-C.
exec_behind() {
	env --default-signal=INT pawl --db "$db" --tenant "$tenant" exec "$@" >"$dir/stdout" 2>"$dir/stderr" 3>&- &
	pid=$!
	started+=("$pid")
	until_true grep -q begun "$dir/stdout"
	id=$(p show @last --json | sed 's/{"id":\([0-9]*\),.*/\1/')
}

@test "Ctrl-C once cancels the command" {
	exec_behind -- sh -c "echo begun; : $mark; sleep 100"
	kill -INT "$pid"
	wait_for "$pid"
	[ "$status" = 3 ]
	[[ $(cat "$dir/stderr") == *"cancelling execution $id; press Ctrl-C again to leave it running"* ]]
	has_status "$id" cancelled
	[[ $(p events "$id" --type cancel_requested) == *'"reason":"Ctrl-C"'* ]]
	same '' "$(marked)"
	p verify
}

@test "Ctrl-C twice leaves the command to a worker of the same state folder" {
	exec_behind -- sh -c "trap : TERM; echo begun; : $mark; while [ ! -e '$dir/go' ]; do sleep 0.05; done; echo ended"
	kill -INT "$pid"
	until_true grep -q 'cancelling execution' "$dir/stderr"
	kill -INT "$pid"
	wait_for "$pid"
	[ "$status" = 130 ]
	[[ $(cat "$dir/stderr") == *"execution $id was left to the workers of this state folder"* ]]
	has_status "$id" running
	touch "$dir/go"
	p worker --drain 2>"$dir/stderr"
	! has_status "$id" running
	[ "$(p events "$id" --type claimed --json | wc -l)" = 1 ]
	p verify
}

@test "exec with queues disabled starts immediately up to queue.cap and is refused beyond it" {
	printf 'queue: {enabled: false, cap: 2}\n' >"$dir/pawl.yaml"
	export PAWL_CONFIG=$dir/pawl.yaml
	wait_for_go="echo begun; : $mark; while [ ! -e '$dir/go' ]; do sleep 0.05; done"
	exec_behind -- sh -c "$wait_for_go"
	first=$pid first_id=$id
	second_id=$(p exec --detach -- sh -c "$wait_for_go" 2>&1)
	until_true has_event "$second_id" started
	refused 7 'queue.cap (2) is reached, and queues are disabled: try again' p exec -- true
	printf 'name: w\ntasks: {a: "true"}\n' >"$dir/flow.yaml"
	refused 2 'there is no queue to wait in: use `pawl run FILE`' p submit "$dir/flow.yaml"
	refused 7 'queue.cap (2) is reached' p exec --detach --key again -- true
	same "$second_id" "$(p show @last --json | sed 's/{"id":\([0-9]*\),.*/\1/')"
	printf 'queue: {enabled: false, cap: 3}\n' >"$dir/pawl.yaml"
	x -- true
	[ "$status" = 0 ]
	p verify
	touch "$dir/go"
	wait_for "$first"
	[ "$status" = 0 ]
	until_true has_status "$second_id" succeeded
	id=$(p exec --detach --key again -- true)
	until_true has_status "$id" succeeded
	same "$(p events "$first_id" --json | sed 's/.*"type":"\([a-z_.]*\)".*/\1/')" \
		"$(p events "$second_id" --json | sed 's/.*"type":"\([a-z_.]*\)".*/\1/')"
	p verify
}

# A task that waits for $dir/go and appends to $dir/begun when it starts.
waiting_task() {
	echo "echo x >>'$dir/begun'; : $mark; while [ ! -e '$dir/go' ]; do sleep 0.05; done"
}
begun() { [ "$(wc -l <"$dir/begun")" = "$1" ]; }

@test "run with queues disabled runs queue.cap tasks at once over all processes and holds the others" {
	printf 'queue: {enabled: false, cap: 2}\nworker: {slots: 8}\n' >"$dir/pawl.yaml"
	export PAWL_CONFIG=$dir/pawl.yaml
	: >"$dir/begun"
	printf 'name: w\ntasks: {t: {foreach: 4, run: "%s"}}\n' "$(waiting_task)" >"$dir/flow.yaml"
	for i in 1 2; do
		p run "$dir/flow.yaml" --progress none >/dev/null 2>&1 3>&- &
		started+=("$!")
	done
	until_true held_by_cap 6
	until_true begun 2
	item=$(p events --type held --json | jq -s 'last.execution')
	[[ $(p why "$item") == *'queues are disabled, and queue.cap is reached: 2 of 2 in use, by '* ]]
	refused 7 'queue.cap (2) is reached, and queues are disabled: try again' p exec -- true
	begun 2
	p verify
	touch "$dir/go"
	for pid in "${started[@]}"; do
		wait_for "$pid"
		[ "$status" = 0 ]
	done
	begun 8
	p verify
}
held_by_cap() { [ "$(p events --type held --json | grep -c 'key:pawl:here')" = "$1" ]; }

@test "with queues disabled, run and exec inside a task count as one with that task under queue.cap" {
	printf 'queue: {enabled: false, cap: 1}\nworker: {slots: 8}\n' >"$dir/pawl.yaml"
	export PAWL_CONFIG=$dir/pawl.yaml
	printf 'name: inner\ntasks: {t: {foreach: 3, run: "mkdir %s/alone; sleep 0.1; rmdir %s/alone"}}\n' "$dir" "$dir" >"$dir/inner.yaml"
	cat >"$dir/outer.yaml" <<-EOF
		name: outer
		tasks:
		  t:
		    run: |
		      export PAWL_CONFIG=$dir/pawl.yaml
		      pawl run $dir/inner.yaml --progress none && pawl exec -- echo ok && ! pawl exec --detach -- true
	EOF
	p run "$dir/outer.yaml" --progress none
	task=$(p ls --all --json --limit 100 | jq 'select(.name == "outer::t").id')
	[[ $(p logs "$task") == *ok*'queue.cap (1) is reached'* ]]
	p verify
}

@test "exec killed with queues disabled counts towards queue.cap until a worker has finished its command" {
	printf 'queue: {enabled: false, cap: 1}\n' >"$dir/pawl.yaml"
	export PAWL_CONFIG=$dir/pawl.yaml
	exec_behind -- sh -c "echo begun; : $mark; while [ ! -e '$dir/go' ]; do sleep 0.05; done"
	kill -9 "$pid"
	wait_for "$pid"
	touch "$dir/go"
	refused 7 'queue.cap (1) is reached' p exec -- true
	p worker --drain 2>"$dir/stderr"
	has_status "$id" succeeded
	x -- true
	[ "$status" = 0 ]
	p verify
}
