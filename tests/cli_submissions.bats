#!/usr/bin/env bats
# pawl submissions: how SQL submissions from other programs are shown.

load cli_common
load cli_run

setup() {
	make_database
	make_state
	flow=$dir/report.flow.yaml
	cat >"$flow" <<-EOF
		name: report
		params: {kind: short}
		tasks:
		  make: {run: 'echo "\$kind" >>$dir/made; : $mark'}
	EOF
	p apply "$flow" >/dev/null
}
teardown() {
	end_all
	remove_database
}

# Writes the row that pawl_submit() writes; SQLite has no such function.
sql_submit() { # params
	case $PAWL_TEST_DB in
	sqlite) sql "UPDATE counters SET value = value + 1 WHERE name = 'execution_id';
		INSERT INTO submissions (id, requested_at, delay, priority, workflow, definition, params, requested_by)
		SELECT c.value, n.applied_at, 0, 0, n.name, n.hash, '$1', 'app' FROM counters c, workflow_names n
		WHERE c.name = 'execution_id' RETURNING id" ;;
	postgres) sql "SELECT pawl_submit('report', '$1')" ;;
	esac
}

@test "SQL submission waits, is accepted by a worker, and runs" {
	id=$(sql_submit '{"kind": "long"}')
	[[ $(p show "$id") == *'submission: no worker has taken it yet'* ]]
	[[ $(p submissions --status waiting) == *"$id  waiting  report"* ]]
	p worker --drain 2>"$dir/worker"
	[ "$(cat "$dir/made")" = long ]
	[[ $(p show "$id") == *succeeded* ]]
	[ -z "$(p submissions --status waiting --json)" ]
	p submissions --json >"$dir/json"
	[ "$(jq -r '.status, .execution, .params.kind' <"$dir/json" | paste -sd' ')" = "taken $id long" ]
	p verify >/dev/null
}

@test "wait for a SQL submission lasts until the execution that a worker makes of it has ended" {
	id=$(sql_submit '{}')
	status=0
	p wait "$id" --timeout 0s >"$dir/waited" 2>"$dir/errors" || status=$?
	[ "$status" = 8 ]
	same "pawl: execution $id has not ended: pending" "$(cat "$dir/errors")"
	p wait "$id" >"$dir/waited" 3>&- &
	started+=($!)
	p worker --drain 2>"$dir/worker"
	wait_for "${started[-1]}"
	[ "$status" = 0 ]
	same "execution $id: succeeded" "$(cat "$dir/waited")"
}

@test "waiting SQL submission is shown by ls, tree, why and queue, and cancel ends it" {
	id=$(sql_submit '{}')
	[[ $(p ls) == *"$id"*pending*report* ]]
	[[ $(p tree "$id") == *report*"waits for submission: no worker has taken it yet"* ]]
	[[ $(p why "$id") == *"it was submitted at "*"no worker has taken it yet: no worker is alive"* ]]
	same 1 "$(p queue --json | jq .submitted)"
	[[ $(p queue) == *default*'SQL submissions that wait for a worker to take them: 1 '* ]]
	same "execution $id: cancelled" "$(p cancel "$id" --reason 'not needed')"
	[[ $(p show "$id") == *cancelled* ]]
	p worker --drain 2>"$dir/worker"
	[ ! -e "$dir/made" ]
	[[ $(p why "$id") == *'it was cancelled at '*': not needed'* ]]
	p verify >/dev/null
}

@test "refused SQL submission is reported and listed, and show, why and cancel ID say that it was refused" {
	id=$(sql_submit '{}')
	sql "UPDATE submissions SET definition = 'gone'"
	p worker --drain 2>"$dir/worker"
	grep "submission $id of the workflow report was refused" "$dir/worker"
	[[ $(p submissions --status refused) == *"$id  refused  report"*gone* ]]
	refused 5 "the submission that asked for it (workflow report) was refused" p show "$id"
	refused 5 "the submission that asked for it (workflow report) was refused" p why "$id"
	refused 5 "the submission that asked for it (workflow report) was refused" p cancel "$id"
	[[ $(cat "$dir/stderr") != *'pawl ls'* ]] # no execution exists, so ls would not list it
	p verify >/dev/null
}

@test "params nested too deeply are refused with an error that names the limit, and the worker keeps running" {
	printf 'name: report\nparams: {p: {type: list, default: []}}\ntasks: {make: "true"}\n' >"$flow"
	p apply "$flow" >/dev/null
	id=$(sql_submit "{\"p\": $(printf '[%.0s' $(seq 2046))$(printf ']%.0s' $(seq 2046))}")
	fine=$(sql_submit '{"p": [[1]]}')
	p worker --drain 2>"$dir/worker"
	grep "submission $id of the workflow report was refused: the params object nests lists and objects 2047 levels deep; at most 64 are allowed" "$dir/worker"
	refused 5 "the submission that asked for it (workflow report) was refused" p show "$id"
	[[ $(p show "$fine") == *succeeded* ]]
	p verify >/dev/null
}

@test "unknown submission status is a usage error" {
	refused 2 "waiting, taken or refused" p submissions --status gone
}
