#!/usr/bin/env bats
# Applied workflows and their schedules: apply, submit NAME, schedule ls, next, pause, resume, run.

load cli_common
load cli_run

setup() {
	make_database
	make_state
	flow=$dir/report.flow.yaml
	cat >"$flow" <<-EOF
		name: report
		params: {kind: short}
		on:
		  schedule:
		    - {cron: "0 2 * * *", tz: UTC, catchup: 2d}
		    - {name: yearly, cron: "@yearly", overlap: queue, jitter: 5m, start: 2100-01-01, with: {kind: long}}
		tasks:
		  make: {run: 'echo "\$kind \$DUE" >>$dir/made; : $mark', env: {DUE: "\${{ default(execution.due_at, 'by hand') }}"}}
	EOF
}
teardown() {
	end_all
	remove_database
}

# Makes the schedules look as if they were applied this many days ago and never evaluated since.
days_ago() {
	case $PAWL_TEST_DB in
	sqlite) sql "UPDATE schedules SET done_at = done_at - $1 * 86400000000, next_at = next_at - $1 * 86400000000" ;;
	postgres) sql "UPDATE schedules SET done_at = done_at - $1 * interval '1 day', next_at = next_at - $1 * interval '1 day'" ;;
	esac
}

@test "applied workflow is stored under its name and prints its next due time" {
	run p apply "$flow"
	[ "$status" = 0 ]
	[[ ${lines[0]} == 'report: applied, 2 schedules' ]]
	[[ ${lines[1]} == 'next: '*' 02:00:00 UTC, report/1' ]]
	run p apply "$flow" --json
	[[ $output == '{"name":"report","hash":"'*'","unchanged":true,"tasks":1,"nested":0,"schedules":2,"kept":2,"removed":0,"warnings":[]}' ]]
	sed -i '/catchup/d' "$flow"
	run p apply "$flow"
	[[ ${lines[0]} == 'report: applied, 1 schedule (1 removed)' ]]
	run p schedule ls --json
	[ "${#lines[@]}" = 1 ]
	[[ $output == *'"schedule":"report/yearly","workflow":"report","cron":"@yearly","tz":"UTC","catchup":null,"overlap":"queue","jitter":"5m","start":"2100-01-01T00:00:00.000000Z","end":null,"with":{"kind":"long"},"next_at":"2100-01-01T00:0'*'"applied_by":"'*@*'","last_order":null}' ]]
	run p verify
	[ "$status" = 0 ]
}

@test "invalid or missing file is not applied" {
	printf 'name: w\non: {schedule: "61 * * * *"}\ntasks: {a: x}\n' >"$dir/bad.flow.yaml"
	run p apply "$dir/bad.flow.yaml"
	[ "$status" = 2 ]
	[[ $output == *'bad.flow.yaml:2:16: on.schedule:'* ]]
	run p apply "$dir/gone.flow.yaml"
	[ "$status" = 5 ]
	run p schedule
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 1 ]
}

@test "schedule next lists the coming due times of all schedules or of one schedule" {
	p apply "$flow" >/dev/null
	run p schedule next -n 3
	[ "${#lines[@]}" = 4 ]
	[[ ${lines[1]} == *'02:00:00 '*'02:00:00  report/1' ]]
	run p schedule next report/yearly -n 2 --json
	[ "${#lines[@]}" = 2 ]
	[[ ${lines[0]} == '{"schedule":"report/yearly","due_at":"2100-01-01T00:00:00.000000Z","fires_at":"2100-01-01T00:0'* ]]
	[[ ${lines[1]} == *'"due_at":"2101-01-01'* ]]
	[ "$(p schedule next report | wc -l)" = 11 ]
}

@test "worker fires each due or missed time once" {
	p apply "$flow" >/dev/null
	days_ago 2
	start_worker
	until_true eval '[ "$(p schedule ls report/1 --json | grep -c "\"last_status\":\"succeeded\"")" = 1 ] && [ "$(wc -l <"$dir/made")" -ge 2 ]'
	start_worker
	sort -u "$dir/made" >"$dir/once"
	cmp <(sort "$dir/made") "$dir/once"
	grep -q 'short 20..-..-..T02:00:00.000000Z' "$dir/made"
	run p schedule
	[[ $output == *'report/1'*' succeeded'* ]]
	[[ $output == *'report/yearly'*'2100-01-01 00:0'*' -  -'* ]]
	id=$(p schedule ls report/1 --json | sed 's/.*"last_run":\([0-9]*\),.*/\1/')
	p rerun "$id" --set kind=again >/dev/null # for the same due time
	until_true grep -q 'again 20..-..-..T02:00:00.000000Z' "$dir/made"
	run p verify
	[ "$status" = 0 ]
}

@test "paused schedule shows the user and the reason, and does not fire missed due times" {
	p apply "$flow" >/dev/null
	run p schedule pause report/1 --reason 'the press is broken'
	[ "$output" = 'schedule report/1: paused; running executions continue' ]
	run p schedule
	[[ $output == *'report/1'*'paused by '*@*': the press is broken'* ]]
	days_ago 5
	run p schedule resume report --reason 'it prints again' --json
	[ "$status" = 0 ]
	[ "${#lines[@]}" = 2 ]
	[[ ${lines[0]} == *'"paused":null'*'"last_order":{"action":"resumed",'*'"reason":"it prints again",'* ]]
	refused 2 'is not paused' p schedule resume report/1
	run p worker --drain
	[ "$status" = 0 ]
	[ ! -e "$dir/made" ]
}

@test "schedule can be run manually, and an applied workflow can be submitted by name" {
	p apply "$flow" >/dev/null
	run p schedule run report/yearly --reason 'as a trial'
	[ "$status" = 0 ]
	id=$output
	[[ $(p events "$id" --self) == *'{"schedule":"report/yearly","by":"'*'","reason":"as a trial"}'* ]]
	run p submit report --param kind=other --json
	[[ $output == *'"kind":"workflow","name":"report"'* ]]
	p worker --drain
	same 'long by hand
other by hand' "$(sort "$dir/made")"
	run p schedule run report/yearly --json
	[[ $output == *'"kind":"workflow","name":"report"'* ]]
	run p verify
	[ "$status" = 0 ]
}

@test "invalid schedule command is refused with an explanation" {
	p apply "$flow" >/dev/null
	refused 5 'there is no schedule reprot' p schedule pause reprot
	refused 5 'there is no schedule report/3' p schedule run report/3
	refused 5 'there is no schedule nothing' p schedule ls nothing
	refused 2 'is not a schedule name' p schedule next report/
	refused 2 'for example report/1' p schedule run report
	refused 5 'no workflow is applied under the name reprot' p submit reprot
	refused 2 'has no param' p submit report --param x=1
	refused 2 'missing schedule' p schedule pause
	refused 2 'write ls, next, pause, resume or run' p schedule stop report
	refused 2 '--reason belongs to' p schedule ls report --reason x
	refused 2 '-n belongs to' p schedule ls -n 3
	refused 2 ' -n needs a whole number of at least 0' p schedule next -n x
	run pawl help schedule
	[[ $output == 'usage: pawl schedule '* ]]
	run pawl help apply
	[[ $output == 'usage: pawl apply FILE'* ]]
}
