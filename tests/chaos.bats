#!/usr/bin/env bats
# The oracle that judges the chaos campaigns (tests/chaos) reports faults. No database: TEST_NO_DB.

@test "oracle of the chaos campaigns reports each fault planted in a correct history" {
	run python3 "$BATS_TEST_DIRNAME/chaos/test_oracle.py"
	echo "$output"
	[ "$status" = 0 ]
	[[ $output == *' tests in '* ]]
}
