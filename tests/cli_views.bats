#!/usr/bin/env bats
# What people see of workflows: show, ls and tree.

load cli_common
load cli_run

setup() {
	make_database
	make_state
}
teardown() {
	end_all
	remove_database
}

# A workflow with a retry, a fan-out, a nested one, a failure and what is skipped after it.
make_flow() {
	cat >"$dir/inner.flow.yaml" <<-'EOF'
		name: inner
		tasks:
		  one: {run: echo one}
		  two: {needs: one, run: echo two}
	EOF
	cat >"$dir/outer.flow.yaml" <<-'EOF'
		name: outer
		params: {day: {type: string, default: monday}}
		tasks:
		  first: {retry: {max: 2, delay: 1ms}, run: 'test "$PAWL_ATTEMPT" -ge 2'}
		  each: {needs: first, foreach: [a, b, c], run: 'test "$ITEM" != b'}
		  below: {needs: first, workflow: inner.flow.yaml}
		  after: {needs: each, run: echo never}
	EOF
	status=0
	p run "$dir/outer.flow.yaml" --progress none 2>/dev/null || status=$?
	[ "$status" = 1 ]
	top=$(p show @last --json | sed 's/{"id":\([0-9]*\),.*/\1/')
}

# The id of a task by its full name.
id_of() { p tree "$top" --json | grep -o '"id":[0-9]*,"parent":[0-9a-z]*,"root":[0-9]*,"depth":[0-9]*,"kind":"[a-z]*","name":"[^"]*"' | grep -F "\"name\":\"$1\"" | sed 's/"id":\([0-9]*\),.*/\1/'; }

@test "a task leads to its parent and to the state of its workflow" {
	make_flow
	item=$(id_of 'outer::each[1]')
	[[ $(p show "$item" --parent --json) == *'"name":"outer::each"'* ]]
	run p show "$item" --workflow --json
	[[ $output == "{\"id\":$top,"* ]]
	[[ $output == *'"variables":{"params":{"day":"monday"},"vars":{}},"current_tasks":[],"completed_tasks":["first","below"],"failed_tasks":["each"],"skipped_tasks":["after"],"paused":false,"pause_reason":null,"error":'* ]]
	[[ $(p show "$(id_of inner::two)" --workflow --json) == *'"name":"outer::below"'* ]]
	refused 5 'has no parent' p show "$top" --parent
	refused 5 'belongs to no workflow' p show "$top" --workflow
	refused 2 'not both' p show "$top" --workflow --parent
}
