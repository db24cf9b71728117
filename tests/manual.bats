#!/usr/bin/env bats
# The man pages and docs/CLI.md, which are generated from the tables in the code.
# TEST_NO_DB

setup() {
	man=$BATS_TEST_TMPDIR/man
	mkdir "$man"
	"$PAWL_TEST_BUILD/manual" man "$man"
}

# A page as a terminal shows it, without bold.
page() { groff -man -P-c -Tutf8 "$man/$1" 2>/dev/null | col -bx; }

@test "every man page renders without a warning" {
	for f in "$man"/*; do
		# a site's own macro file, which may be missing
		groff -ww -man -Tutf8 -z "$f" 2>&1 | grep -v "can't find macro file 'man.local'" >"$BATS_TEST_TMPDIR/warnings" || true
		[ ! -s "$BATS_TEST_TMPDIR/warnings" ] || { cat "$BATS_TEST_TMPDIR/warnings"; return 1; }
		LC_ALL=C grep -n '[^ -~]' "$f" && return 1
	done
	[ "$(ls "$man" | wc -l)" -gt 30 ]
}

@test "every command has a man page with the options of its help, examples and exit codes" {
	for c in $(pawl help | sed -n '/^usage/,/^`pawl help/s/^  \([a-z]\+\) .*/\1/p'); do
		page "pawl-$c.1" >"$BATS_TEST_TMPDIR/page"
		grep -q "^ *$c\b" <<<"$(page pawl.1)"
		for option in $(pawl help "$c" | sed -n '/^examples/q;s/^  \(--\?[a-z-]*\).*/\1/p'); do
			grep -q -- "^  *$option\b" "$BATS_TEST_TMPDIR/page" || { echo "$c: $option"; return 1; }
		done
		for word in SYNOPSIS EXAMPLES 'EXIT STATUS'; do
			grep -qx "$word" "$BATS_TEST_TMPDIR/page"
		done
	done
}

@test "pawl(1) lists the exit codes and environment variables" {
	page pawl.1 | grep -q '^ *6 *the database'
	for name in $(grep -rhoE 'getenv\("PAWL_[A-Z_]+"' "$BATS_TEST_DIRNAME/../src" | cut -d'"' -f2 | sort -u); do
		case $name in
		PAWL_SHIM_POINT) continue ;; # for tests only
		esac
		page pawl.1 | grep -q "^ *$name\b" || { echo "$name"; return 1; }
	done
}

@test "man pages about files list every key of those files" {
	page pawl.yaml.5 >"$BATS_TEST_TMPDIR/config"
	page pawl-workflow.5 >"$BATS_TEST_TMPDIR/workflow"
	for key in $(sed -n 's/^| `\([a-z_.]*\)` | .*/\1/p' "$BATS_TEST_DIRNAME/../docs/CONFIGURATION.md"); do
		grep -q "^ *$key\b" "$BATS_TEST_TMPDIR/config" || { echo "$key"; return 1; }
	done
	for key in $(sed -n '/^## Reference/,$s/^| `\([a-z_]*\)` | .*/\1/p' "$BATS_TEST_DIRNAME/../docs/WORKFLOWS.md"); do
		grep -q "^ *$key\b" "$BATS_TEST_TMPDIR/workflow" || { echo "$key"; return 1; }
	done
}

@test "docs/CLI.md matches the code" {
	"$PAWL_TEST_BUILD/manual" markdown | diff "$BATS_TEST_DIRNAME/../docs/CLI.md" - ||
		{ echo 'run make docs/CLI.md'; return 1; }
}
