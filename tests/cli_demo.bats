#!/usr/bin/env bats
# The demonstration works and leaves nothing behind. It creates its own file: TEST_NO_DB.

# Runs the demonstration; the machine may stall, so it has several attempts at 20 seconds.
demo() {
	export TMPDIR=$BATS_TEST_TMPDIR
	for _ in 1 2 3 4 5; do
		run timeout 20 sh "$BATS_TEST_DIRNAME/../examples/demo.sh"
		[ "$status" = 124 ] || break
	done
	echo "$output"
	[ "$status" = 0 ]
}

teardown() {
	[ -z "${server:-}" ] || {
		kill "$server"
		wait "$server" || true
	}
}

@test "demo succeeds within 20 seconds and cleans up" {
	demo
	[[ $output == *'task.adopted'* ]]
	[[ $output == *'fetch [6/6 ok]'* ]]
	[[ $output == *'flaky'*'attempt 2/4'* ]]
	grep -Eq '^verify: [0-9]+ invariants hold over 10 executions' <<<"$output"
	[[ ${lines[-2]} == *'pawl run hello.flow.yaml' ]]
	[[ ${lines[-1]} == *'pawl serve --worker 4'* ]]
	[[ $output != *'in a browser: the server'* ]]
	[ -z "$(ls -A "$BATS_TEST_TMPDIR" | grep pawl-demo)" ]
}

@test "demo with a file for its database keeps that file, and prints a command that shows the run in a browser" {
	export PAWL_DEMO_DB=$BATS_TEST_TMPDIR/demo.db XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
	demo
	grep -q 'Look at this run in a browser' <<<"$output"
	hint=$(sed -n 's/^\$ \(.* serve --db .*\)$/\1/p' <<<"$output")
	[ "$hint" = "$(command -v pawl) serve --db sqlite:$PAWL_DEMO_DB" ]
	[ -z "$(ls -A "$BATS_TEST_TMPDIR" | grep pawl-demo)" ]
	# the command as it is printed, on a port that is free
	$hint --listen 127.0.0.1:0 >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	server=$!
	for _ in $(seq 2400); do
		! grep -q 'http://127' "$BATS_TEST_TMPDIR/out" || break
		sleep 0.05
	done
	cat "$BATS_TEST_TMPDIR/out"
	address=$(sed -n 's/.*: open \(http:.*\)#token=\(.*\)$/\1 \2/p' "$BATS_TEST_TMPDIR/out")
	python3 - $address <<-'END'
		import json, sys, urllib.request
		url, token = sys.argv[1:]
		page = urllib.request.urlopen(url, timeout=240)
		assert page.headers.get_content_type() == "text/html" and page.read()
		ask = urllib.request.Request(url + "v1/executions", headers={"Authorization": f"Bearer {token}"})
		runs = json.load(urllib.request.urlopen(ask, timeout=240))["items"]
		assert [(r["name"], r["status"]) for r in runs] == [("demo", "succeeded")], runs
	END
}
