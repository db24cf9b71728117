#!/usr/bin/env bats
# The demonstration works and leaves nothing behind. It creates its own file: TEST_NO_DB.

@test "demo succeeds within 20 seconds and cleans up" {
	export TMPDIR=$BATS_TEST_TMPDIR
	for _ in 1 2 3 4 5; do # the machine may stall
		run timeout 20 sh "$BATS_TEST_DIRNAME/../examples/demo.sh"
		[ "$status" = 124 ] || break
	done
	echo "$output"
	[ "$status" = 0 ]
	[[ $output == *'task.adopted'* ]]
	[[ $output == *'fetch [6/6 ok]'* ]]
	[[ $output == *'flaky'*'attempt 2/4'* ]]
	grep -Eq '^verify: [0-9]+ invariants hold over 10 executions' <<<"$output"
	[[ ${lines[-2]} == *'pawl run hello.flow.yaml' ]]
	[[ ${lines[-1]} == *'pawl serve --worker 4'* ]]
	[ -z "$(ls -A "$BATS_TEST_TMPDIR" | grep pawl-demo)" ]
}
