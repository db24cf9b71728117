#!/usr/bin/env bats
# Each example does what its head comment says. They create their own files: TEST_NO_DB.

setup() {
	cd "$BATS_TEST_TMPDIR"
	db=sqlite:$BATS_TEST_TMPDIR/pawl.db
	examples=$PAWL_TEST_BUILD/examples
	export HOME=$BATS_TEST_TMPDIR PAWL_SHIM=$PAWL_TEST_BUILD/pawl-shim
	unset PAWL_DB PAWL_TENANT PAWL_STATE PAWL_CONFIG XDG_STATE_HOME XDG_CONFIG_HOME
}

teardown() {
	[ -z "${pid:-}" ] || kill -9 "$pid" 2>/dev/null || true
}

# Waits until a command succeeds; only a broken program reaches the time limit.
soon() { # command...
	local n
	for n in $(seq 4800); do
		! "$@" || return 0
		sleep 0.05
	done
	echo "not within 240 s: $*"
	return 1
}

# All executions succeeded, and verify finds nothing wrong.
verified() { # executions
	run pawl --db "$db" verify
	echo "$output"
	[ "$status" = 0 ]
	[[ $output == *"hold over $1 executions"* ]]
}

@test "functions: program that embeds Pawl runs its own functions" {
	run timeout 300 "$examples/functions" "$db" primes 10 1000
	echo "$output"
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 2 ]
	[[ $output == *'"input":10,"outputs":4,"result":4,'* ]]
	[[ $output == *'"input":1000,"outputs":168,"result":168,'* ]]
	verified 2
}

@test "functions: killed program finishes its work when it is started again" {
	"$examples/functions" "$db" primes 100 2000000000 >first 2>&1 &
	pid=$!
	soon grep -q '"result":25,' first
	kill -9 "$pid"
	wait "$pid" || true
	pawl --db "$db" cancel 2 >/dev/null
	run timeout 300 "$examples/functions" "$db"
	echo "$output"
	[ "$status" = 0 ]
	[[ $output == *'"id":2,'*'"status":"cancelled"'* ]]
	verified 2
}

@test "functions: program started without a database prints its usage" {
	run "$examples/functions"
	[ "$status" = 2 ]
	[[ $output == 'usage: functions DB [NAME INPUT...]' ]]
}

was_deferred() { pawl --db "$db" events @last | grep -q deferred; }

@test "plugin: worker that loads the plugin runs both of its functions" {
	printf 'one\ntwo\nthree\n' >numbers
	printf 'plugins: [%s]\n' "$examples/plugin.so" >pawl.yaml
	pawl trust
	run timeout 300 "$examples/functions" "$db" lines "\"$PWD/numbers\""
	echo "$output"
	[[ $output == *'"status":"succeeded"'*'"result":{"lines":3,"bytes":14}'* ]]

	"$examples/functions" "$db" appears "\"$PWD/later\"" >appears 2>&1 &
	pid=$!
	soon was_deferred
	touch later
	wait "$pid"
	cat appears
	grep -q '"status":"succeeded","attempt":[2-9]' appears
	verified 2
}

@test "plugin_executor: stock worker runs the tasks of an executor that a plugin brings" {
	printf 'plugins: [%s]\nworker: {slots: 20}\n' "$examples/plugin_executor.so" >pawl.yaml
	cat >waits.flow.yaml <<-'END'
		name: waits
		params: {ms: 20}
		tasks:
		  one: {executor: wait, with: {ms: "${{ params.ms }}"}}
		  each: {needs: one, foreach: [a, {b: 1}], executor: wait, with: {ms: "${{ tasks.one.outputs.waited_ms + 1 }}"}}
		outputs: {one: "${{ tasks.one.outputs }}", each: "${{ tasks.each.outputs }}"}
	END
	pawl trust
	run pawl --db "$db" submit waits.flow.yaml
	echo "$output"
	[ "${lines[0]}" = 'waits.flow.yaml:4:3: warning: tasks.one names the executor "wait", which no worker has served yet: the task waits until a worker has it (1 other task names it, too)' ]
	pawl --db "$db" worker --drain
	run pawl --db "$db" show @last --json
	echo "$output"
	[[ $output == *'"status":"succeeded"'*'"result":{"one":{"waited_ms":20,"workflow":"waits","item":null},"each":['*'"outputs":{"waited_ms":21,"workflow":"waits","item":"a"}'*'"item":{"b":1}}'* ]]

	# the executor is known by now, and a foreground run loads the plugin, too
	run pawl --db "$db" submit waits.flow.yaml
	[ "$output" = "$(pawl --db "$db" show @last --json | sed 's/{"id":\([0-9]*\),.*/\1/')" ]
	run pawl --db "$db" run waits.flow.yaml --progress none --json
	echo "$output"
	[[ $output == '{"id":'*'"status":"succeeded"'* ]]

	# a task that ends by a cancel, one that is refused, and a plugin that is loaded twice
	pawl --db "$db" worker &
	pid=$!
	id=$(pawl --db "$db" submit waits.flow.yaml --param ms=3600000)
	soon runs_one "$id"
	pawl --db "$db" cancel "$id"
	id=$(pawl --db "$db" submit waits.flow.yaml --param ms=-1)
	soon has_failed "$id"
	[[ $(pawl --db "$db" why "$id") == *'with.ms must be a number of milliseconds'* ]]

	# an item that is too long for the outputs, and a key ms that is not that of with
	printf 'name: long\ntasks: {a: {executor: wait, foreach: ["%0200d", "%0198d"], with: {ms: 1}}}\noutputs: {a: "${{ tasks.a.outputs }}"}\n' \
		1 2 >long.flow.yaml
	id=$(pawl --db "$db" submit long.flow.yaml)
	soon has_succeeded "$id"
	[[ $(pawl --db "$db" show "$id" --json) == *'"workflow":"long","item":null}'*'"workflow":"long","item":"00'*'02"}'* ]]
	echo '{name: nested, tasks: {a: {executor: wait, with: {deep: {ms: 1}}}}}' >nested.flow.yaml
	id=$(pawl --db "$db" submit nested.flow.yaml)
	soon has_failed "$id"
	[[ $(pawl --db "$db" why "$id") == *'and the first key'* ]]
	kill "$pid"
	wait "$pid"
	run pawl --db "$db" worker --plugin "$examples/plugin_executor.so"
	echo "$output"
	[ "$status" = 2 ]
	[[ $output == *'plugin_executor.so: it is already loaded; name it once'* ]]
	verified 27
}

runs_one() { [[ $(pawl --db "$db" tree "$1" --json) == *'"status":"running"'*'"name":"waits::one","status":"running"'* ]]; }
has_succeeded() { [[ $(pawl --db "$db" show "$1" --json) == *'"status":"succeeded"'* ]]; }
has_failed() { [[ $(pawl --db "$db" show "$1" --json) == *'"status":"failed"'* ]]; }

@test "executor: helper receives one task per line" {
	run timeout 300 "$examples/executor" "$db" \
		'while read -r id attempt input; do echo "$id $attempt ok $((input * 2))"; done' 1 2 3
	echo "$output"
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 3 ]
	[[ $output == *'"executor":"helper"'*'"input":3,"outputs":6,"result":6,'* ]]
	verified 3
}

@test "executor: failure reported by the helper is stored, and tasks that it left unfinished are lost" {
	run timeout 300 "$examples/executor" "$db" 'read -r id attempt input; read -r x; echo "$id $attempt failed dizzy"' 1 2
	echo "$output"
	[ "$status" = 7 ]
	[[ ${lines[-1]} == 'executor: the helper has ended' ]]
	[[ $(pawl --db "$db" events 1) == *dizzy* ]]
	[[ $(pawl --db "$db" events 2) == *'the helper has ended'* ]]
	verified 2
}

@test "clean-up: scheduled clean-up removes old ended executions" {
	file=$(cd "$BATS_TEST_DIRNAME/../examples" && pwd)/clean-up.flow.yaml
	pawl --db "$db" exec -- true
	run pawl --db "$db" apply "$file"
	echo "$output"
	[[ ${lines[0]} == 'clean-up: applied, 1 schedule' ]]
	[[ ${lines[1]} == 'next: '*', clean-up/nightly' ]]
	pawl --db "$db" schedule run clean-up/nightly
	timeout 300 pawl --db "$db" worker --drain
	pawl --db "$db" show 1 # not old enough to be removed
	pawl --db "$db" submit clean-up --param keep=1ms
	timeout 300 pawl --db "$db" worker --drain
	[[ $(pawl --db "$db" show @last --json) == *'"status":"succeeded"'* ]]
	run pawl --db "$db" show 1
	[ "$status" = 5 ]
	run pawl --db "$db" verify
	echo "$output"
	[ "$status" = 0 ]
}

# Runs the workflow nightly, whose error has characters that mean something to a chat and to JSON, and what follows it.
nightly_fails() {
	cat >nightly.flow.yaml <<-'END'
		name: nightly
		outputs: {sum: "${{ tasks.load.outputs.sum }}"}
		tasks: {load: {run: 'echo sum=1 >>"$PAWL_OUTPUT"; exit 3'}}
	END
	pawl --db "$db" apply nightly.flow.yaml
	pawl --db "$db" submit nightly
	PATH=$PWD/bin:$PATH timeout 300 pawl --db "$db" worker --drain
}

# A program that keeps its arguments and its input.
recorder() { # name
	mkdir -p bin
	printf '#!/bin/sh\nprintf "%%s\\n" "$@" >%s.args\ncat >%s.stdin\n[ ! -e /dev/fd/3 ] || cat /dev/fd/3 >%s.config\n' \
		"$PWD/$1" "$PWD/$1" "$PWD/$1" >"bin/$1"
	chmod +x "bin/$1"
}

@test "notify-slack: failed run is reported to a chat whose address is in no argument" {
	recorder curl
	export SLACK_URL=https://chat.example/hooks/T0/s3cret
	pawl --db "$db" apply "$(cd "$BATS_TEST_DIRNAME/../examples" && pwd)/notify-slack.flow.yaml"
	nightly_fails
	pawl --db "$db" ls
	[ "$(cat curl.config)" = 'url = "https://chat.example/hooks/T0/s3cret"' ]
	[[ $(cat curl.args) != *s3cret* ]]
	[ "$(jq -r .text curl.stdin)" = '*nightly* failed: load failed: exited with code 3
`pawl why 1` explains it.' ]

	# what an error contains is neither a command of the chat nor the end of the message
	pawl --db "$db" submit notify-slack --param 'error=<!channel> & "x"'
	PATH=$PWD/bin:$PATH timeout 300 pawl --db "$db" worker --drain
	[[ $(jq -r .text curl.stdin) == '*nightly* failed: &lt;!channel&gt; &amp; "x"'* ]]
	[[ $(pawl --db "$db" ls --all --json) != *s3cret* ]]
	verified 6
}

@test "notify-mail: failed run is reported by mail" {
	recorder sendmail
	pawl --db "$db" apply "$(cd "$BATS_TEST_DIRNAME/../examples" && pwd)/notify-mail.flow.yaml"
	nightly_fails
	[ "$(cat sendmail.args)" = "$(printf '%s\n' -t -i)" ]
	[ "$(sed '/^$/q' sendmail.stdin)" = 'To: root
Subject: nightly failed: run 1
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit' ]
	grep -Fx 'load failed: exited with code 3' sendmail.stdin
	verified 4
}
