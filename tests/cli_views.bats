#!/usr/bin/env bats
# Workflows as people see them: show, ls and tree.

load cli_common
load cli_run
load cli_nested

# The id of a task by its full name.
id_of() { p tree "$top" --json | grep -o '"id":[0-9]*,"parent":[0-9a-z]*,"root":[0-9]*,"depth":[0-9]*,"kind":"[a-z]*","name":"[^"]*"' | grep -F "\"name\":\"$1\"" | sed 's/"id":\([0-9]*\),.*/\1/'; }

@test "task is shown with its parent and the state of its workflow" {
	make_flow
	run_nested
	[ "$status" = 1 ]
	item=$(id_of 'outer::each[1]')
	[[ $(p show "$item" --parent --json) == *'"name":"outer::each"'* ]]
	run p show "$item" --workflow --json
	[[ $output == "{\"id\":$top,"* ]]
	[[ $output == *'"variables":{"params":{"day":"monday"},"vars":{}},"current_tasks":[],"completed_tasks":["first","below"],"failed_tasks":["each"],"skipped_tasks":["after"],"paused":false,"pause_reason":null,"error":'* ]]
	[[ $(p show "$(id_of inner::two)" --workflow --json) == *'"name":"outer::below"'* ]]
	[ "$(p show "$top" | sed -n 's/^status *//p')" = failed ] # a workflow is not claimed, so it has no attempts
	[ "$(p show "$item" | sed -n 's/^status *//p')" = 'failed, attempt 1 of 1' ]
	refused 5 'has no parent' p show "$top" --parent
	refused 5 'does not belong to a workflow' p show "$top" --workflow
	refused 2 'exclude each other' p show "$top" --workflow --parent
}

@test "show prints a workflow and its task as text" {
	make_flow
	run_nested
	same "execution $top, workflow
name outer
status failed
error each failed: each[1] failed: exited with code 1
queue here:$top, priority 0
requested T UTC
by U@H
started T UTC, waited D
finished T UTC, ran D
failed each
succeeded first, below
skipped after
params {\"day\":\"monday\"}
definition H
see also pawl why $top, pawl tree $top" "$(p show "$top" | sed -E 's/[0-9a-f]{32}/H/' | plain)"
	item=$(id_of 'outer::each[1]')
	[[ $(p show "$item") == *"
task       each[1] of workflow $top
see also   pawl why $item, pawl logs $item" ]]
	printf 'name: w\ntasks:\n  a: {run: echo a}\n' >"$dir/flow.yaml"
	id=$(p submit "$dir/flow.yaml")
	p pause "$id" --reason 'the disk is full'
	same "execution $id, workflow
name w
status running
queue default, priority 0
requested T UTC
by U@H
started T UTC, waited D
so far D
paused the disk is full
open a
params {}
definition H
see also pawl why $id, pawl tree $id" "$(p show "$id" | sed -E 's/[0-9a-f]{32}/H/' | plain)"
}

@test "ls lists the newest first, and children only on request" {
	make_flow
	run_nested
	id=$(submit '{"ms": 1}')
	same "ID STATUS KIND NAME ATTEMPT REQUESTED (UTC) RAN
$id ready exec exec::nap 0/3 T worker: for lane function:nap in queue default
$top failed workflow outer T D each failed: b failed: exited with code 1" "$(p ls | plain | sed -e 's/^ *//' -e "s/each failed: .*/each failed: b failed: exited with code 1/")"
	[ "$(p ls --json | wc -l)" = 2 ]
	p ls --kind task >/dev/null 2>"$dir/stderr"
	same 'pawl: no executions without a parent match; --all searches at any depth' "$(cat "$dir/stderr")"
	p ls --all --status pending >/dev/null 2>"$dir/stderr"
	same 'pawl: no executions' "$(cat "$dir/stderr")"
	same '' "$(p ls --kind task --json 2>&1)"
	[ "$(p ls --limit 1 --json | grep -o '^{"id":[0-9]*')" = "{\"id\":$id" ]
	[ "$(p ls --before "$id" --json | grep -o '^{"id":[0-9]*')" = "{\"id\":$top" ]
	[ "$(p ls --all --limit 0 --json | wc -l)" = 11 ]
	[ "$(p ls --status failed --json | wc -l)" = 1 ]
	[ "$(p ls --status failed,ready --json | wc -l)" = 2 ]
	[ "$(p ls --all --kind foreach --json | wc -l)" = 1 ]
	[ "$(p ls --all --name 'outer::each[*' --json | wc -l)" = 3 ]
	[ "$(p ls --all --workflow inner --json | grep -o '"name":"[^"]*"' | paste -sd' ')" = '"name":"inner::two" "name":"inner::one" "name":"outer::below"' ]
	[ "$(p ls --workflow outer --json | wc -l)" = 1 ]
	[ "$(p ls --queue default --json | wc -l)" = 1 ]
	[ "$(p ls --parent "$top" --json | grep -o '"task_name":"[^"]*"' | paste -sd' ')" = '"task_name":"after" "task_name":"below" "task_name":"each" "task_name":"first"' ]
	[ "$(p ls --tasks @last --json 2>&1 | grep -c 'is not a workflow')" = 1 ]
	[ "$(p ls --tasks "$top" --json | wc -l)" = 7 ]
	[ "$(p ls --tasks "$top" --status failed --json | grep -o '"name":"[^"]*"' | paste -sd' ')" = '"name":"outer::each" "name":"outer::each[1]"' ]
	[ "$(p ls --tasks "$top" --kind foreach --json | wc -l)" = 1 ]
	[ "$(p ls --tasks "$top" --name 'outer::each[*' --json | wc -l)" = 3 ]
	[ "$(p ls --tasks "$top" --name 'outer::each[*' --status succeeded --json | wc -l)" = 2 ]
	[ "$(p ls --tasks "$top" --queue none --json | wc -l)" = 0 ]
	[ "$(p ls --tasks "$top" --limit 2 --json | wc -l)" = 2 ]
	refused 2 'combined with --workflow' p ls --tasks "$top" --workflow inner
	refused 2 'combined with --workflow or --before' p ls --tasks "$top" --before 3
	refused 2 "'broken' is not a status" p ls --status broken
	refused 2 "'thing' is not a kind" p ls --kind thing
	refused 2 'exclude each other' p ls --all --parent "$top"
	refused 5 'there is no execution 999' p ls --parent 999
}

@test "graph of a run shows the status of the run and of each task" {
	make_flow
	run_nested
	same "outer: 4 tasks, failed
  *    first  succeeded
  +-*  each   failed, for each [\"a\",\"b\",\"c\"]
  * |  below  succeeded, workflow inner
    *  after  skipped

inner: 2 tasks
  *  one
  *  two" "$(p graph "$top")"
	[[ $(p graph "$top" --format dot) == *'[label="each\nfailed\nfor each'*'color=red]'* ]]
	[[ $(p graph "$top" --format mermaid) == *'"first<br/>succeeded"'* ]]
	p graph "$top" --format svg >"$dir/run.svg"
	python3 -c 'import sys, xml.etree.ElementTree; xml.etree.ElementTree.parse(sys.argv[1])' "$dir/run.svg"
	[[ $(cat "$dir/run.svg") == *'<title id="pawl-title">outer: 4 tasks, failed</title>'*'>3/3 done, 1 failed</text>'*'>workflow inner</text>'* ]]
	p graph "$top" --format json >"$dir/run.json"
	same 'failed first succeeded null,each failed 3,below succeeded null,after skipped null' \
		"$(jq -r '.status + " " + (.nodes | map("\(.name) \(.status) \(.items.total)") | join(","))' "$dir/run.json")"
	same '{"total":3,"pending":0,"ready":0,"running":0,"succeeded":2,"failed":1,"timed_out":0,"cancelled":0,"skipped":0}' \
		"$(jq -c '.nodes[] | select(.name == "each") | .items' "$dir/run.json")"
	same "$(id_of outer::below) workflow inner" "$(jq -r '.nodes[] | select(.name == "below") | "\(.execution) \(.kind) \(.workflow)"' "$dir/run.json")"
	same 'number null' "$(jq -r '[.nodes[] | select(.name == "first" or .name == "after") | .duration_us | type] | join(" ")' "$dir/run.json")"
}

@test "run that succeeded with an allowed failure offers no rerun of failed tasks" {
	printf 'name: w\ntasks: {a: {run: exit 3, allow_failure: true}, b: "true"}\n' >"$dir/w.flow.yaml"
	run p run "$dir/w.flow.yaml" --progress plain
	[ "$status" = 0 ]
	[[ $output == *'w::a ('*') failed: exited with code 3'* ]]
	[[ $output != *'pawl rerun'* ]]
	refused 2 'no task of execution' p rerun @last --failed
	printf 'name: w\ntasks: {a: {run: exit 3, allow_failure: true}, b: exit 4}\n' >"$dir/w.flow.yaml"
	run p run "$dir/w.flow.yaml" --progress plain
	[ "$status" = 1 ]
	[[ $output == *'to run the failed tasks again: pawl rerun '*' --failed'* ]]
}

@test "tree folds succeeded items, lists failed ones, and says why other tasks did not run" {
	make_flow
	run_nested
	LC_ALL=C p tree "$top" >"$dir/tree"
	cat "$dir/tree"
	same "x outer #I failed ran D
|- + first #I succeeded attempt 2/3 waited D ran D on W
|- x each [2/3 ok, 1 failed] #I failed ran D
| \`- x each[1] #I failed attempt 1/1 ! exited with code 1 waited D ran D on W
|- + below #I succeeded ran D
| |- + one #I succeeded attempt 1/1 waited D ran D on W
| \`- + two #I succeeded attempt 1/1 waited D ran D on W
\`- o after #I skipped (a task that it needs did not succeed)" "$(plain <"$dir/tree" | sed -E 's/#[0-9]+/#I/')"
	[ "$(PAWL_TRACE=1 p tree "$top" 2>&1 >/dev/null | grep -c query_)" = 1 ]
	LC_ALL=C.UTF-8 p tree "$top" | grep -q '│  └─ ✘ each\[1\]'
	[[ $(p why "$top") == *'each failed: '*"; \`pawl logs $(id_of 'outer::each[1]')\` shows the output of outer::each[1]" ]]
	# any node can be the root of a tree
	[[ $(LC_ALL=C p tree "$(id_of outer::below)") == '+ outer::below  #'* ]]
}

@test "tree with many failed items shows the first few and counts the rest" {
	printf 'name: w\ntasks:\n  each: {foreach: 14, run: "false"}\n' >"$dir/flow.yaml"
	p run "$dir/flow.yaml" --progress none 2>/dev/null || true
	LC_ALL=C p tree @last >"$dir/tree"
	cat "$dir/tree"
	[ "$(grep -c 'x each\[' "$dir/tree")" = 10 ]
	grep -q ' each \[0/14 ok, 14 failed\]' "$dir/tree"
	last=$(tail -n 1 "$dir/tree")
	[[ $last == *'`- ... 4 more failed: pawl ls --parent '*' --status failed,timed_out' ]]
	id=$(sed 's/.*--parent \([0-9]*\).*/\1/' <<<"$last")
	[ "$(p ls --parent "$id" --status failed,timed_out --json | wc -l)" = 14 ]
}

@test "paused workflow is shown with its reason" {
	printf 'name: w\ntasks:\n  a: {run: echo a}\n' >"$dir/flow.yaml"
	id=$(p submit "$dir/flow.yaml")
	p pause "$id" --reason 'the disk is full'
	[[ $(p show "$id" --json) == *'"paused":true,"pause_reason":"the disk is full"'* ]]
	same "> w #I running paused running D
\`- . a #I ready waits for the end of a pause waiting D" "$(LC_ALL=C p tree "$id" | plain | sed -E 's/#[0-9]+/#I/')"
	p resume "$id"
	[[ $(p show "$id" --json) == *'"paused":false,"pause_reason":null'* ]]
}

@test "why names what each task of a workflow waits for" {
	cat >"$dir/flow.yaml" <<-'EOF'
		name: w
		tasks:
		  a: {run: echo a}
		  ask: {run: echo ask, approval: {message: "go on?"}}
		  each: {foreach: 3, max_parallel: 1, run: echo i}
		  last: {needs: [a, ask, each], run: echo last}
	EOF
	top=$(p submit "$dir/flow.yaml")
	same "execution I, w::last: pending
 it waits for 3 of its 3 needs: a (ready), ask (ready), each (running)" "$(p why "$(id_of w::last)" | plain | sed -E 's/execution [0-9]+/execution I/')"
	ask=$(id_of w::ask)
	same "execution $ask, w::ask: ready
 it has been waiting for approval since T: go on?; \`pawl approve $ask\` lets it continue, \`pawl reject $ask\` fails it" "$(p why "$ask" | plain)"
	[[ $(p why "$(id_of w::each)") == *'  0 of its 3 items have ended, 1 is open, more are created as these end (at most 1 at once): '*' w::each[0] (ready)'* ]]
	[[ $(p why "$(id_of 'w::each[0]')") == *'no worker is alive: one that serves lane process in queue default is needed (`pawl worker`)'* ]]
	p pause "$top" --reason lunch
	[[ $(p why "$(id_of w::a)") == *"  its ancestor w ($top) has been paused since "*': lunch; resume it with `pawl resume '"$top"'`' ]]
	[[ $(p why "$(id_of w::a)" --json | jq -r '.reasons[].code') == paused ]]
	p resume "$top"
	p skip "$(id_of w::a)" --reason 'not today'
	[[ $(p why "$(id_of w::a)") == *'it was skipped at '*', by '*'@'*': not today' ]]
}

@test "init writes a workflow that validates, can be drawn, and runs" {
	cd "$dir"
	same 'created hello.flow.yaml; run it with `pawl run hello.flow.yaml`' "$(pawl init)"
	pawl validate hello.flow.yaml
	pawl graph hello.flow.yaml | grep -q greet
	p run hello.flow.yaml --param who=you
	same 'hello, you' "$(p logs "$(p ls --all --name hello::greet --json | jq .id)")"
	same '3 succeeded' "$(p tree @last --json | jq -r '.. | objects | select(.kind? == "task" and (.name | startswith("hello::each["))) | .status' | sort | uniq -c | xargs)"
	refused 2 'already exists' pawl init
	refused 2 "can't create no/such/folder.yaml: No such file or directory" pawl init no/such/folder.yaml
	pawl init other.yaml
	grep -q 'pawl run other.yaml' other.yaml
	pawl validate other.yaml
}

@test "graph of a run shows its stored definition even if the file has changed" {
	printf 'name: w\ntasks:\n  a: {run: echo a}\n  b: {needs: a, run: echo b}\n' >"$dir/flow.yaml"
	id=$(p submit "$dir/flow.yaml")
	pawl graph "$dir/flow.yaml" >"$dir/before"
	cp "$dir/flow.yaml" "$dir/kept.yaml"
	printf 'name: w\ntasks:\n  other: {run: echo other}\n' >"$dir/flow.yaml"
	without_state() { sed -E 's/(, running|  ready|  pending)$//; s/<br.>(ready|pending)//'; }
	diff "$dir/before" <(p graph "$id" | without_state)
	diff "$dir/before" <(p graph @last | without_state)
	diff <(pawl graph "$dir/kept.yaml" --format mermaid) <(p graph @last --format mermaid | without_state)
	job=$(submit '{"ms": 1}')
	refused 2 'is not a workflow' p graph "$job"
	refused 5 'there is no execution 777777' p graph 777777
}
