#!/usr/bin/env bats
# History: executions as of an earlier moment, the critical path of a run, and the diff of two runs.

load cli_common
load cli_run
load cli_nested

# The number of the nth event of a type in the tree of $top.
event() { p events "$top" --type "$1" --json | jq -r .sequence_num | sed -n "${2:-1}p"; }
shape() { LC_ALL=C p tree "$@" | plain | sed -E 's/#[0-9]+/#I/'; }

@test "tree as of an event, a time or an age shows the state at that moment" {
	make_flow
	run_nested
	first=$(p ls --all --name outer::first --json | jq .id)
	same "as of event $(event held)
> outer #I running running D
|- . first #I ready attempt 1/3 ! exited with code 1 waits D more waited D running D on W
|- . each #I pending waits for needs: not all have ended
|- . below #I pending waits for needs: not all have ended
\`- . after #I pending waits for needs: not all have ended" "$(shape "$top" --at="#$(event held)")"
	ended=$(p show "$first" --json | jq -r .finished_at)
	[[ $(shape "$top" --at "$ended") == "as of T UTC
> outer #I running running D
|- + first #I succeeded attempt 2/3 waited D ran D on W
"* ]]
	[ "$(p show "$first" --at "$ended" --json | jq -r .status)" = succeeded ]
	[ "$(p show "$first" --at="#$(event claimed)" --json | jq -rc '[.status, .attempt, .finished_at, .outputs]')" = '["running",1,null,null]' ]
	[[ $(p show "$first" --at="#$(event claimed)") == "as of      event "*"
status     running, attempt 1 of 3
"* ]]
	# as of now, all fields have their current values
	diff <(p tree "$top" --json | jq -S 'del(.. | .waiting?)') <(p tree "$top" --at 0s --json | jq -S 'del(.. | .waiting?)')
	refused 5 "execution $top did not exist at " p tree "$top" --at 1h
	refused 5 ': it was requested at 2' p show "$top" --at 1h
	refused 5 'there is no execution 999' p show 999 --at 1h
	refused 2 "'x' is not a time" p tree "$top" --at x
	refused 2 "'#x' is not an event" p tree "$top" --at '#x'
	refused 2 "can't be combined" p show "$first" --parent --at 1h
}

@test "result replaced by a rerun is shown as of an earlier time" {
	make_flow
	run_nested
	failed=$(event workflow.failed 1)
	each=$(p ls --all --name outer::each --json | jq .id)
	p rerun "$top" >/dev/null 2>&1 || true
	[ "$(event workflow.rerun)" -gt "$failed" ]
	[ "$(p show "$each" --at="#$failed" --json | jq -r .status)" = failed ]
	[[ $(p show "$each" --at="#$failed" --json | jq -r .error) == *'exited with code 1' ]]
	[ "$(p show "$top" --at="#$failed" --json | jq -c .workflow_execution.failed_tasks)" = '["each"]' ]
}

@test "steps of the critical path add up to the duration of the run and name its tasks" {
	make_flow
	run_nested --param day=tuesday
	p tree "$top" --critical --json >"$dir/path"
	cat "$dir/path"
	[ "$(jq '.total_us == ([.steps[].total_us] | add)' "$dir/path")" = true ]
	[ "$(jq '.total_us == .wait_us + .held_us + .run_us + .retry_us' "$dir/path")" = true ]
	[ "$(jq -r '.steps[] | select(.name == "outer::first") | .retry_us > 0 and .run_us > 0' "$dir/path")" = true ]
	LC_ALL=C p tree "$top" --critical >"$dir/text"
	cat "$dir/text"
	grep -qE '^ +TOTAL +WAIT +HELD +RUN +RETRY  STEP$' "$dir/text"
	grep -qE '  \+ outer::first  #[0-9]+  attempt 2$' "$dir/text"
	grep -qE '  total of outer, succeeded$' "$dir/text"
	# while the run was still running
	[ "$(p tree "$top" --critical --at="#$(event retry_scheduled)" --json | jq -r '.steps[-1].name')" = outer::first ]
	refused 5 'there is no execution 999' p tree 999 --critical
}

@test "diff of two runs shows which params and outcomes differ" {
	make_flow
	run_nested
	one=$top
	run_nested --param day=tuesday
	p diff "$one" "$top" >"$dir/out"
	LC_ALL=C p diff "$one" "$top" >"$dir/out"
	cat "$dir/out"
	same "x #$one outer failed ran D T UTC
+ #$top outer succeeded ran D T UTC
params
 day: \"monday\" -> \"tuesday\"
outcome
 status: failed -> succeeded" "$(sed -n 1,6p "$dir/out" | plain)"
	grep -q '^first difference: first  #' "$dir/out"
	grep -q '^  outputs: {"day":"monday"} -> {"day":"tuesday"}$' "$dir/out"
	grep -q '^  + each\[1\]  failed -> succeeded  different outputs  different error$\|^  + each\[1\]  failed -> succeeded  different error$' "$dir/out"
	grep -q '^  + after  skipped -> succeeded' "$dir/out"
	p diff "$one" "$top" --json >"$dir/json"
	[ "$(jq -rc '[.same, .first.task, (.params | length), (.definition | length), .a.id, .b.id]' "$dir/json")" = "[false,\"first\",1,0,$one,$top]" ]
	[ "$(jq -rc '[.tasks[].task] | sort' "$dir/json")" = '["after","below","below/one","below/two","each","each[0]","each[1]","each[2]","first"]' ]
	status=0
	p diff "$one" "$top" --exit-code >/dev/null || status=$?
	[ "$status" = 1 ]
	# two runs that are equal
	again=$top
	run_nested --param day=tuesday
	p diff "$again" "$top" --exit-code | grep -qx 'no differences except times'
	p diff "$top" "$top" --exit-code --json | jq -e .same
	one=$(p exec --detach --name lone -- true)
	p diff "$one" "$top" >"$dir/out"
	grep -q '^first difference: first  #[1-9][0-9]*$' "$dir/out" # the task has one id
	refused 5 'there is no execution 999' p diff "$top" 999
	refused 2 'needs more' p diff "$top"
}

@test "diff of an edited definition lists the changed keys task by task" {
	make_flow
	run_nested
	one=$top
	sed -i -e 's/echo two/echo three/' "$dir/inner.flow.yaml"
	sed -i -e '/  after:/d' -e 's/max: 2, delay: 1ms/max: 3, delay: 1ms/' -e 's/^tasks:/&\n  new: {run: echo new}/' "$dir/outer.flow.yaml"
	run_nested
	LC_ALL=C p diff "$one" "$top" >"$dir/out"
	cat "$dir/out"
	same 'definition
  ~ first: retry
  ~ below/two: run
  - after
  + new' "$(sed -n '/^definition/,/^  + new/p' "$dir/out")"
	grep -q '^  . new  missing -> succeeded' "$dir/out"
	grep -q '^  . after  skipped -> missing' "$dir/out"
}

@test "diff compares two commands that were run without a workflow" {
	p exec --detach -- echo one >/dev/null
	a=$(p show @last --json | jq .id)
	p exec --detach -- echo two >/dev/null
	b=$(p show @last --json | jq .id)
	[ "$(p diff "$a" "$b" --json | jq -rc '[.definition[].keys, .same]')" = '[["argv"],false]' ]
	[ "$(p diff "$a" "$a" --json | jq -c '[.same, .tasks, .first]')" = '[true,[],null]' ]
	p cancel "$a" >/dev/null
	p cancel "$b" >/dev/null
}

@test "diff and ls print no time for executions without a request time" {
	a=$(p exec --detach -- true) b=$(p exec --detach -- true)
	sql "UPDATE executions SET requested_at = $([ "$PAWL_TEST_DB" = sqlite ] && echo 0 || echo "'1970-01-01 00:00:00Z'")"
	p diff "$a" "$b" >"$dir/out"
	same "#$a exec::true ready
#$b exec::true ready
no differences except times" "$(sed 's/^[^#]*//; $s/^$/no differences except times/' "$dir/out" | sed 's/  */ /g')"
	[[ $(p ls) == *' - '* ]]
}
