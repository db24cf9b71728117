#!/usr/bin/env bats
# The command table: help, parser and completion are generated from it, and every entry is documented.
# TEST_NO_DB

commands() { pawl help | sed -n '/^usage/,/^`pawl help/s/^  \([a-z]\+\) .*/\1/p'; }

@test "help lists the commands, and help COMMAND, COMMAND --help and COMMAND -h print the same text" {
	[ "$(commands | wc -l)" -ge 28 ]
	for c in $(commands); do
		pawl help "$c" >"$BATS_TEST_TMPDIR/help"
		pawl "$c" --help | cmp - "$BATS_TEST_TMPDIR/help"
		pawl "$c" -h | cmp - "$BATS_TEST_TMPDIR/help"
		head -n 1 "$BATS_TEST_TMPDIR/help" | grep -q "^usage: pawl $c"
	done
}

@test "every option has a description, and every command an example and the exit codes" {
	for c in $(commands); do
		pawl help "$c" | awk -v c="$c" '
			/^examples:/ { examples = 1 }
			/^exit codes:/ { codes = 1 }
			waiting { if ($0 !~ /^                        [^ ]/) bad(option); waiting = 0 }
			/^  --?[a-z]/ && !examples { option = $0; options++; waiting = substr($0, 3) !~ /  +[^ ]/ }
			/^  [^ ]/ && examples && !codes { shown++ }
			function bad(o) { print c ": nothing is said about " o; failed = 1 }
			END { if (options < 3 || !shown || !codes) { print c ": " options " options, " shown " examples"; failed = 1 }
				exit failed }'
	done
}

@test "help fits on a terminal of 80 columns" {
	for c in $(commands); do
		pawl help "$c"
	done >"$BATS_TEST_TMPDIR/all"
	pawl help >>"$BATS_TEST_TMPDIR/all"
	[ "$(LC_ALL=C.UTF-8 wc -L <"$BATS_TEST_TMPDIR/all")" -le 80 ]
}

@test "options used in the examples of the help exist" {
	for c in $(commands); do
		pawl help "$c" >"$BATS_TEST_TMPDIR/help"
		sed -n '/^examples:/,/^exit codes:/s/^  pawl //p' "$BATS_TEST_TMPDIR/help" | sed 's/ -- .*//' |
			grep -o -- ' --[a-z-]*' | sort -u | while read -r option; do
			grep -q -- "^  $option\b" "$BATS_TEST_TMPDIR/help" || { echo "$c: $option"; exit 1; }
		done
	done
}

@test "help of ls names exactly the existing statuses" {
	pawl help ls | grep -o 'pending|[a-z_|]*' | tr '|' '\n' | sort >"$BATS_TEST_TMPDIR/named"
	sed -n 's/^    X([A-Z_]*, [0-9]*, "\([a-z_]*\)").*/\1/p' <<<"$(sed -n '/define STATUSES/,/^$/p' \
		"$BATS_TEST_DIRNAME/../src/core/vocab.h")" | sort >"$BATS_TEST_TMPDIR/are"
	[ -s "$BATS_TEST_TMPDIR/are" ]
	diff "$BATS_TEST_TMPDIR/named" "$BATS_TEST_TMPDIR/are"
}

@test "list of commands in the README names every command" {
	for c in $(commands); do
		[ "$c" = help ] || grep -Eq "^pawl ([a-z]+[^|]*\| )?$c\b" "$BATS_TEST_DIRNAME/../README.md" ||
			grep -q "also: $c\b" "$BATS_TEST_DIRNAME/../README.md" || { echo "$c"; return 1; }
	done
}
