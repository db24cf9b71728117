#!/usr/bin/env bats
# The catalogue of applied workflows: workflow ls, show, versions, rm.

load cli_common
load cli_run

setup() {
	make_database
	make_state
	flow=$dir/report.flow.yaml
	cat >"$flow" <<-EOF
		# prints a report
		name: report
		description: Prints a report.
		on: {schedule: {cron: "0 2 * * *", overlap: queue}}
		params:
		  kind: {type: string, default: short, description: short or long}
		tasks:
		  make: {run: 'true', description: makes it}
		  send: {needs: make, run: 'true'}
	EOF
}
teardown() {
	end_all
	remove_database
}

@test "pawl workflow in a database without applied workflows says how to add one" {
	run p workflow
	[ "$status" = 0 ]
	[[ $output == *'no workflow is applied: `pawl apply FILE` adds one'* ]]
	run p workflow ls --json
	[ "$output" = '' ]
}

@test "applied workflows are listed with their last run and filtered by name" {
	p apply "$flow"
	printf 'name: other\ntasks: {a: {run: x}}\n' >"$dir/other.flow.yaml"
	p apply "$dir/other.flow.yaml"
	id=$(p submit report)
	p worker --drain --state "$state"
	run p workflow
	[ "$status" = 0 ]
	[[ ${lines[0]} == 'WORKFLOW  TASKS  SCHEDULES  LAST RUN  STATUS '* ]]
	[[ ${lines[1]} == 'other         1          0         -  -  '* ]]
	[[ ${lines[2]} == 'report '*" $id  succeeded  "*'Prints a report.' ]]
	run p workflow ls --name 'rep*' --json
	[ "${#lines[@]}" = 1 ]
	[[ $output == '{"name":"report","description":"Prints a report.","definition":"'*'","task_count":2,"param_count":1,"schedule_count":1,'*'"last_run":'"$id"',"last_status":"succeeded",'* ]]
	run p workflow --name 'x*'
	[[ $output == *'no applied workflow has a name like that'* ]]
}

@test "workflow is shown with params, tasks, schedules and the text that was applied" {
	p apply "$flow"
	run p workflow show report
	[ "$status" = 0 ]
	[[ $output == *'workflow   report'*'about      Prints a report.'*'applied    20'*' UTC by '* ]]
	[[ $output == *'kind   string  "short"  short or long'* ]]
	[[ $output == *'make  command  -      makes it'* ]]
	[[ $output == *'send  command  make   -'* ]]
	[[ $output == *'report/1  0 2 * * *  UTC'* ]]
	cmp "$flow" <(p workflow show report --yaml)
	[ "$(p workflow show report --json | jq -r '.tasks[1].needs[0]')" = make ]
}

@test "earlier version is shown by its hash" {
	p apply "$flow"
	cp "$flow" "$dir/first.yaml"
	first=$(p workflow show report --json | jq -r .definition)
	sed -i 's/makes it/makes another/' "$flow"
	p apply "$flow"
	p apply "$flow" # changes nothing
	run p workflow versions report
	[ "${#lines[@]}" = 3 ]
	[[ ${lines[1]} == '      2  '*' current' ]]
	[[ ${lines[2]} == "      1  $first "* ]]
	cmp "$dir/first.yaml" <(p workflow show report --version "$first" --yaml)
	run p workflow show report --version "$first"
	[[ $output == *", not the current one"* ]]
	refused 5 'has no version 1234' p workflow show report --version 1234
	run p verify
	[ "$status" = 0 ]
}

@test "deleted workflow can't be submitted, and the error names the user and the reason" {
	p apply "$flow"
	refused 5 'did you mean report?' p workflow rm reports
	run p workflow rm report --reason 'nobody reads it'
	[ "$status" = 0 ]
	[ "$output" = 'report: deleted, with 1 schedule; running executions continue' ]
	refused 5 '(nobody reads it)' p submit report
	refused 5 'deleted it at 20' p workflow show report
	run p schedule
	[ "${#lines[@]}" = 1 ]
	hash=$(p workflow versions report --json | jq -r .definition)
	p workflow show report --version "$hash" --yaml >"$dir/again.flow.yaml"
	p apply "$dir/again.flow.yaml"
	run p workflow rm report --json
	[[ $output == '{"name":"report","definition":"'*'","schedules":1,"waiting":0}' ]]
	run p verify
	[ "$status" = 0 ]
}

@test "wrong arguments of pawl workflow are refused before the database is opened" {
	refused 2 "no subcommand 'list'" pawl workflow list --db sqlite:/nowhere/x.db
	refused 2 'missing workflow' pawl workflow show --db sqlite:/nowhere/x.db
	refused 2 'write `pawl workflow show report`' pawl workflow ls report --db sqlite:/nowhere/x.db
	refused 2 '--reason belongs to' pawl workflow show report --reason x --db sqlite:/nowhere/x.db
	refused 2 '--version and --yaml belong to' pawl workflow rm report --yaml --db sqlite:/nowhere/x.db
	refused 2 '--name belongs to' pawl workflow show report --name x --db sqlite:/nowhere/x.db
	refused 2 'exclude each other' pawl workflow show report --yaml --json --db sqlite:/nowhere/x.db
}
