#!/usr/bin/env bats
# Any input, however odd, is accepted or refused with a message: each fuzzer mutates its corpus for a short time. `make
# fuzz` runs longer. No database: TEST_NO_DB.

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

@test "any bytes are accepted as a workflow file or get diagnostics with locations" { try workflow; }
@test "any bytes are accepted as YAML or get an error" { try yaml; }
@test "any bytes are accepted as pawl.yaml or get diagnostics with locations" { try config; }
@test "any bytes are refused as a definition or read and written back unchanged" { try definition; }
@test "any text is evaluated as an expression or gets an error with its location" { try expr; }
@test "any text is a cron pattern with due times or is refused" { try cron; }
@test "any text is read as a duration, a time or a number or is refused" { try duration; }
@test "any bytes are read as the outputs of a task or are refused" { try outputs; }
@test "any text is an access token that is written back unchanged or is refused" { try token; }
@test "any method and target lead to an endpoint with checked arguments or are refused" { try target; }
@test "any bytes are read as the body of a request by its rules or are refused" { try body; }
@test "any message of a webhook is admitted exactly if its signature is right" { try webhook; }
