#!/usr/bin/env bats
# pawl bench: it measures, and removes everything it created, however it ends.

load cli_common
load cli_run

setup() {
	make_database
	make_state
	export TMPDIR=$dir/tmp
	mkdir "$TMPDIR"
}
teardown() {
	end_all
	remove_database
}

# Lists the tenants and files. The first listener of an SQLite database creates its wake-up folder.
left() {
	pawl admin tenant list --db "$db" | grep bench_ || true
	ls -A "$TMPDIR"
}

@test "bench prints its figures and removes its database" {
	p exec -- true
	before=$(p show @last --json)
	out=$(pawl bench --db "$db" --span 50ms)
	echo "$out"
	[[ $out == *'read '*' ms '*'single submit '*' ms '*'submit to start, idle worker '*' ms '* ]]
	[[ $out == *'submits, 1,000 per call '*' /s'*'runs (claim, start, settle) '*' /s'*'end to end (submit to end) '*' /s'* ]]
	[ "$([ "$PAWL_TEST_DB" = sqlite ] && echo 1 || echo 0)" = "$(grep -c '^disk write ' <<<"$out")" ]
	grep -q '^a single submit [iw]' <<<"$out"
	grep -q '^end-to-end jobs [uw]' <<<"$out"
	[ -z "$(left)" ]
	[ "$(p show @last --json)" = "$before" ]
	p verify
}

@test "bench --json prints every figure as a number" {
	pawl bench --db "$db" --span 20ms --json |
		jq -e '.submit.n >= 3 and .submit.p50_us > 0 and .submit.p99_us >= .submit.p50_us and .start.n >= 1 and
			.submits_per_s > 0 and .runs_per_s > 0 and .lives_per_s > 0 and (.limits | length) == 2'
	[ -z "$(left)" ]
}

@test "bench ignores the user's configuration" {
	mkdir -p "$XDG_CONFIG_HOME/pawl"
	printf 'queue: {enabled: false, cap: 1}\nworker: {slots: 1}\n' >"$XDG_CONFIG_HOME/pawl/pawl.yaml"
	pawl bench --db "$db" --span 20ms --json | jq -e '.runs_per_s > 0'
}

@test "bench ended by a signal leaves nothing behind" {
	for signal in INT TERM; do
		env pawl bench --db "$db" --span 30s >"$dir/out" 2>&1 3>&- & # "env": background jobs of a shell ignore INT
		pid=$!
		started+=("$pid")
		until_true is_there
		kill "-$signal" "$pid"
		[ "$signal" = TERM ] || kill -TERM "$pid"
		wait_for "$pid"
		[ "$status" = 143 ] || [ "$status" = 130 ]
		[ -z "$(left)" ]
	done
}
is_there() { left | grep -q bench_; }

@test "bench with wrong arguments is refused" {
	refused 2 'at most 1m' pawl bench --db "$db" --span 0s
	refused 2 'at most 1m' pawl bench --db "$db" --span 1h
	refused 6 "$dir/none" pawl bench --db "sqlite:$dir/none/pawl.db"
	refused 6 '127.0.0.1' pawl bench --db postgres://postgres@127.0.0.1:1/postgres
	[ -z "$(left)" ]
}
