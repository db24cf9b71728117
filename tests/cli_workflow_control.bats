#!/usr/bin/env bats
# Operator actions on a running workflow: approve, reject, skip, pause, resume, cancel.

load cli_common
load cli_run

id_of() { # name
	p tree @last --json | jq -r --arg n "$1" '.. | objects | select(.name? == $n) | .id'
}

status_of() { # name
	p tree @last --json | jq -r --arg n "$1" '.. | objects | select(.name? == $n) | .status'
}

flow() {
	cat >"$dir/flow.yaml"
	p submit "$dir/flow.yaml" >"$dir/id"
}

@test "approval is requested, given and recorded" {
	flow <<-'EOF'
		name: w
		params: {day: {type: string, default: monday}}
		tasks:
		  ask: {run: "echo yes", approval: {message: "publish ${{ params.day }}?"}}
		  no: {run: "echo no", approval: {message: "really?"}, allow_failure: true}
	EOF
	p worker --drain --state "$dir/state"
	[[ $(p events "$(id_of w::ask)" --type held) == *'"message":"publish monday?"'* ]]
	id=$(cat "$dir/id")
	run p approve "$id" # two tasks wait
	same "pawl: execution $id does not wait for an approval" "$output"
	same "execution $(id_of w::ask): approved" "$(p approve "$(id_of w::ask)" --reason 'looks good')"
	for decision in approve reject; do
		refused 2 "execution $id does not wait for an approval; its task $(id_of w::no) w::no does: \`pawl $decision $(id_of w::no)\`" p $decision "$id"
	done
	same "execution $(id_of w::no): rejected" "$(p reject "$(id_of w::no)" --reason 'not today')"
	p worker --drain --state "$dir/state"
	same succeeded "$(status_of w::ask)"
	same failed "$(status_of w::no)"
	same succeeded "$(p show @last --json | jq -r .status)"
	[[ $(p events "$(id_of w::ask)" --type unheld) == *'"by":"'*'@'*'","reason":"looks good"}' ]]
	[[ $(p show "$(id_of w::no)" --json | jq -r .error) == 'rejected by '*'@'*': not today' ]]
	refused 2 'has ended; its status is succeeded' p reject "$(id_of w::ask)"
	refused 5 'there is no execution 777777' p approve 777777
	p verify
}

@test "paused workflow starts nothing until it is resumed" {
	flow <<-'EOF'
		name: w
		tasks:
		  a: {run: "true"}
		  b: {run: "true", needs: a}
	EOF
	same "execution $(cat "$dir/id"): paused" "$(p pause @last --reason 'the disk is full')"
	refused 2 'is already paused' p pause @last
	refused 2 'is not paused itself: resume its paused ancestor' p resume "$(id_of w::a)"
	timeout 300 "$PAWL_TEST_BUILD/pawl" worker --drain --db "$db" --tenant "$tenant" --state "$dir/state"
	same ready "$(status_of w::a)"
	[[ $(p events @last --self --type paused) == *'"reason":"the disk is full"'* ]]
	same "execution $(cat "$dir/id"): resumed" "$(p resume @last)"
	refused 2 'is not paused' p resume @last
	p worker --drain --state "$dir/state"
	same succeeded "$(p show @last --json | jq -r .status)"
	p verify
}

@test "task skipped on request counts as done" {
	flow <<-'EOF'
		name: w
		tasks:
		  a: {run: "exit 1"}
		  b: {run: "true", needs: a}
	EOF
	p skip "$(id_of w::a)" --reason 'not needed' --json | jq -e '.status == "skipped"'
	p worker --drain --state "$dir/state"
	same succeeded "$(status_of w::b)"
	same succeeded "$(p show @last --json | jq -r .status)"
	refused 2 'has ended; its status is succeeded' p skip "$(id_of w::b)"
	p verify
}

@test "cancel can let running jobs finish" {
	flow <<-EOF
		name: w
		tasks:
		  a: {run: "echo > $dir/begun; while [ ! -e $dir/go ]; do sleep 0.05; done"}
		  b: {run: "true", needs: a}
	EOF
	p worker --drain --state "$dir/state" 3>&- &
	for _ in $(seq 2400); do [ ! -e "$dir/begun" ] || break; sleep 0.05; done
	[[ $(p cancel @last --let-finish) == *'may finish'* ]]
	touch "$dir/go"
	wait
	same succeeded "$(status_of w::a)"
	same cancelled "$(status_of w::b)"
	same cancelled "$(p show @last --json | jq -r .status)"
	p verify
}

@test "approval example runs its release task after the approval" {
	p submit "$BATS_TEST_DIRNAME/../examples/approval.flow.yaml" --param version=1.2 >"$dir/id"
	p worker --drain --state "$dir/state"
	same running "$(p show @last --json | jq -r .status)"
	p approve "$(id_of approval::release)"
	p worker --drain --state "$dir/state"
	same succeeded "$(p show @last --json | jq -r .status)"
	same skipped "$(status_of approval::rejected)"
	same 'releasing 1.2' "$(p logs "$(id_of approval::release)")"
	p verify
}

@test "rerun runs failed tasks again in place, or with other params as a new execution" {
	flow <<-EOF
		name: w
		params: {with: {type: string, default: none}}
		tasks:
		  a: {run: "echo n=7 >> \$PAWL_OUTPUT; echo > $dir/a.\$PAWL_ATTEMPT"}
		  b: {run: "[ -e $dir/mended ] && echo \$with \$n", needs: a, env: {n: "\${{ tasks.a.outputs.n }}"}}
		  c: {run: "true", needs: b}
	EOF
	refused 2 'because it has not ended; its status is running' p rerun @last
	p worker --drain --state "$dir/state"
	same failed "$(p show @last --json | jq -r .status)"
	x=$(id_of w::b) y=$(id_of w::c) w=$(cat "$dir/id")
	same "would run again: $w w (was failed)
would run again: $x w::b (was failed)
would run again: $y w::c (was skipped)" "$(p rerun @last --failed --dry-run)"
	same failed "$(p show @last --json | jq -r .status)"
	touch "$dir/mended"
	same "runs again: $w w (was failed)
runs again: $x w::b (was failed)
runs again: $y w::c (was skipped)" "$(p rerun @last --failed --reason mended)"
	p worker --drain --state "$dir/state"
	same succeeded "$(p show @last --json | jq -r .status)"
	same 'none 7' "$(p logs "$x")"
	[ ! -e "$dir/a.2" ]
	[[ $(p events "$x" --type rerun) == *'"reason":"mended"'*'"error":"'* ]]
	refused 2 'no task of execution' p rerun @last --failed
	refused 2 "has no task 'd'" p rerun @last --from d
	refused 2 'has no param day' p rerun @last --set day=mon
	same "execution $(($(p rerun "$w" --from b --set with=some --dry-run --json | jq .rerun_of) + 4)) is a rerun of $w" \
		"$(p rerun "$w" --from b --set with=some)"
	p worker --drain --state "$dir/state"
	same succeeded "$(p show @last --json | jq -r .status)"
	same 'some 7' "$(p logs "$(id_of w::b)")"
	[ ! -e "$dir/a.2" ]
	sed "s/c: .*/c: {run: 'true', needs: b, env: {X: y}}/" "$dir/flow.yaml" >"$dir/new.yaml"
	p rerun "$w" --file "$dir/new.yaml" --json | jq -e ".rerun_of == $w"
	p worker --drain --state "$dir/state"
	same succeeded "$(p show @last --json | jq -r .status)"
	same "$w" "$(p show @last --json | jq .rerun_of)"
	p verify
}

@test "rerun of a foreground run also runs in the foreground" {
	cat >"$dir/flow.yaml" <<-EOF
		name: w
		tasks:
		  a: {run: "echo > $dir/a.\$PAWL_ATTEMPT"}
		  b: {run: "[ -e $dir/mended ]", needs: a}
		  c: {run: "echo done", needs: b}
	EOF
	status=0
	p run "$dir/flow.yaml" --state "$dir/state" >"$dir/out" 2>&1 || status=$?
	same 1 "$status"
	status=0
	p rerun @last --failed --state "$dir/state" >"$dir/out" 2>&1 || status=$?
	same 1 "$status"
	touch "$dir/mended"
	p rerun @last --failed --state "$dir/state" >"$dir/out" 2>&1
	[[ $(cat "$dir/out") == *'completed'*'w::c'* ]]
	same succeeded "$(p show @last --json | jq -r .status)"
	[ -e "$dir/a.1" ] && [ ! -e "$dir/a.2" ]
	p verify
}

@test "rerun with a fixed file keeps the given values of params that the file still has" {
	printf 'name: w\nparams: {a: {type: string}, b: 1}\ntasks: {x: "true"}\n' >"$dir/flow.yaml"
	p submit "$dir/flow.yaml"
	p worker --drain --state "$dir/state"
	p rerun @last --set b=2
	p worker --drain --state "$dir/state"
	same succeeded "$(p show @last --json | jq -r .status)"
	same '{"a":null,"b":2}' "$(p show @last --json | jq -c .workflow_execution.variables.params)"
	sed -i 's/b: 1/c: {type: integer, required: true}/' "$dir/flow.yaml"
	refused 2 'the param c is missing: it must be an integer; write --set c=VALUE' p rerun @last --file "$dir/flow.yaml"
	p rerun @last --file "$dir/flow.yaml" --set c=3
	p worker --drain --state "$dir/state"
	same '{"a":null,"c":3}' "$(p show @last --json | jq -c .workflow_execution.variables.params)"
	same succeeded "$(p show @last --json | jq -r .status)"
}

@test "why of a waiting workflow says why its first ready task waits, and cancel prints the status" {
	printf 'name: w\ntasks: {a: {foreach: 2, run: "true"}, b: {needs: a, run: "true"}}\n' >"$dir/flow.yaml"
	id=$(p submit "$dir/flow.yaml")
	p why "$id" | grep -F "it runs until its children have ended: "
	for waiting in "$id" "$(id_of w::a)"; do
		p why "$waiting" | grep -F "w::a[0] ($(id_of 'w::a[0]')): no worker is alive: one that serves lane process in queue default is needed"
	done
	same "execution $id: cancelled" "$(p cancel "$id")"
}
