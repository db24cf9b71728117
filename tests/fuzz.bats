#!/usr/bin/env bats
# What people write is never too odd to be refused in words: each fuzzer tries for a moment what grows from
# its corpus. `make fuzz` takes longer. No database: TEST_NO_DB.

try() { # name
	[[ $PAWL_TEST_BUILD != */asan ]] || skip 'fuzzers have a build of their own'
	local seconds=1
	[ -z "${PAWL_TEST_FULL:-}" ] || seconds=30
	FUZZ_FOUND=$BATS_TEST_TMPDIR BUILD=$PAWL_TEST_BUILD run "$BATS_TEST_DIRNAME/fuzz/run" $seconds "$1"
	echo "$output"
	[ "$status" != 77 ] || skip "$output"
	[ "$status" = 0 ]
	[[ $output == "fuzz_$1: "*' inputs, nothing wrong' ]]
}

@test 'any bytes are a workflow file or a list of problems with their places' { try workflow; }
@test 'any bytes are YAML or not, and then why' { try yaml; }
@test 'any bytes are pawl.yaml or a list of problems with their places' { try config; }
@test 'any bytes are a stored definition that is written as it is read, or none' { try definition; }
@test 'any text is an expression with a value, or a fault with its place' { try expr; }
@test 'any text is a cron pattern with due times, or none' { try cron; }
@test 'any text is a duration, a time, a number, or none' { try duration; }
@test 'any bytes are the outputs of a task, or none' { try outputs; }
