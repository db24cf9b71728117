#!/usr/bin/env bats
# The judge of the chaos campaigns (tests/chaos) must not be blind. No database: TEST_NO_DB.

@test "oracle of the campaigns names each planted fault" {
	run python3 "$BATS_TEST_DIRNAME/chaos/test_oracle.py"
	echo "$output"
	[ "$status" = 0 ]
	[[ $output == *' tests in '* ]]
}
