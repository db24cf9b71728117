#!/usr/bin/env bats
# Workflows that start when another one ends, with real workers.

load cli_common
load cli_run

# Applies two workflows; each run of `first` leaves one line in $dir/lines when `second` follows it.
apply_both() {
	cat >"$dir/first.flow.yaml" <<-EOF
		name: first
		params: {n: 0}
		tasks:
		  a: {run: 'echo "n=\$n" >>"\$PAWL_OUTPUT"; : $mark', outputs: n}
		outputs: {n: "\${{ tasks.a.outputs.n }}"}
	EOF
	cat >"$dir/second.flow.yaml" <<-EOF
		name: second
		params: {n: "", of: 0}
		on: {workflow: {name: first, with: {n: "\${{ trigger.outputs.n }}", of: "\${{ trigger.execution }}"}}}
		tasks:
		  b: {run: 'echo "\$n \$of" >>$dir/lines; : $mark'}
	EOF
	p apply "$dir/first.flow.yaml" >/dev/null
	p apply "$dir/second.flow.yaml" >/dev/null
}

@test "workflow follows another one, and shows which run it follows" {
	apply_both
	id=$(p submit first --param n=7 | grep -o '[0-9][0-9]*' | head -1)
	p worker --drain 2>"$dir/worker"
	same "7 $id" "$(cat "$dir/lines")"
	same "taken second $id" "$(p submissions --json | jq -r '"\(.status) \(.workflow) \(.source)"')"
	run=$(p submissions --json | jq .execution)
	[[ $(p events "$run") == *"workflow first, execution $id"* ]]
	p verify >/dev/null
}

@test "workers that are killed with SIGKILL neither lose nor repeat a follower" {
	apply_both
	for n in {1..40}; do p submit first --param n="$n" >/dev/null; done
	for n in {1..6}; do
		start_worker --slots 4
		sleep "0.$n"
		kill -9 "$worker"
		wait_for "$worker"
	done
	start_worker --slots 4
	all_ended() { [ "$(p submissions --limit 1000 --json | jq -r .execution | grep -c '[0-9]')" = 40 ] &&
		[ -z "$(p ls --status pending,ready,running --json)" ]; }
	until_true all_ended
	same 40 "$(p ls --workflow second --status succeeded --kind workflow --limit 1000 --json | wc -l)"
	same 40 "$(sort -u "$dir/lines" | wc -l)"
	p verify >/dev/null
}
