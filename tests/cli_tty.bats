#!/usr/bin/env bats
# The live tree of `pawl run`, in a real terminal that tmux emulates; the tests read the screen of tmux.

load cli_common
load cli_run
load cli_tty

make_flow() {
	cat >"$dir/flow.yaml" <<-EOF
		name: w
		tasks:
		  first: {retry: {max: 2, delay: 1ms}, run: 'echo reading the page; test "\$PAWL_ATTEMPT" -ge 2 || exit 1; $(wait_for_file go)'}
		  each: {needs: first, foreach: 10, run: 'test \$ITEM != 3 || { seq 30; $(wait_for_file stop); exit 3; }'}
		  after: {needs: each, run: echo never}
	EOF
}

@test "run at 80 columns shows a live tree with attempts, output and a bar, and its failures at the end" {
	make_flow
	start 80 40 run "$dir/flow.yaml"
	until_true shows '▸ first  attempt 2/3'
	until_true shows '│ reading the page'
	shows '· each'
	shows '· after  waits for needs: 1 left'
	touch "$dir/go"
	until_true shows '█████████░ [9/10 ok, 1 running]'
	until_true shows '▸ each[3]'
	until_true shows '│ 30'
	touch "$dir/stop"
	until_true ended
	screen
	[ "$(code)" = 1 ]
	shows '✘ w '
	shows '├─ ✔ first  attempt 2/3'
	shows '├─ ✘ each ██████████ [9/10 ok, 1 failed]'
	shows '│  └─ ✘ each[3]'
	shows '! exited with code 3'
	shows '└─ ○ after  (a task that it needs did not succeed)'
	[ "$(screen | grep -c '✔ first')" = 1 ] # no older frame remains
	# the last twenty lines of output, and how to read all of them
	[ "$(screen | grep -cE '^[0-9]+ *$')" = 20 ]
	shows '11'
	id=$(p ls --all --name 'w::each[3]' --json | sed 's/{"id":\([0-9]*\),.*/\1/')
	shows "full output: pawl logs $id"
	[ "$(p logs "$id" | wc -l)" = 30 ]
	again=$(screen | sed -n 's/.*again: pawl \(.*[a-z]\) *$/\1/p')
	[[ $again == 'rerun '*' --failed' ]]
	[[ $(p $again) == *'w::each'* ]]
}

@test "run at 40 columns prints no line longer than the terminal" {
	make_flow
	start 40 40 run "$dir/flow.yaml"
	until_true shows '▸ first'
	touch "$dir/go" "$dir/stop"
	until_true ended
	screen
	[ "$(code)" = 1 ]
	shows '├╴✔ first'
	# a wrapped line would give two lines: each node has one
	[ "$(screen | sed -n '1,/^---/p' | grep -c .)" = 6 ]
	screen | sed -n '1,/^---/p' | grep -q '…$'
}

@test "run leaves no parts of older frames on a resized terminal" {
	make_flow
	start 100 30 run "$dir/flow.yaml"
	until_true shows '▸ first  attempt 2/3'
	$tmux resize-window -x 45 -y 20
	until_true shows '├╴▸ first'
	$tmux resize-window -x 90 -y 36
	until_true shows '├─ ▸ first'
	touch "$dir/go" "$dir/stop"
	until_true ended
	screen
	[ "$(screen | grep -c ' first ')" = 1 ]
	[ "$(screen | grep -cE '^[✘▸] w ')" = 1 ]
}

@test "run with more tasks than screen lines leaves out tasks but shows the running ones" {
	{
		printf 'name: w\ntasks:\n'
		for i in $(seq 40); do printf '  t%d: {run: echo %d}\n' "$i" "$i"; done
		printf '  slow: {run: "%s"}\n' "$(wait_for_file go)"
	} >"$dir/flow.yaml"
	start 80 12 run "$dir/flow.yaml"
	until_true shows '▸ slow'
	until_true shows ' more'
	[ "$(screen | grep -c .)" -le 11 ]
	touch "$dir/go"
	until_true ended
	[ "$(code)" = 0 ]
	[ "$($tmux capture-pane -p -S -100 | grep -c '✔ t')" = 40 ]
}

@test "reason why a run is stuck is shown in full at 40 columns and only while it applies" {
	printf 'name: w\ntasks: {ask: {approval: "publish all of it now?", run: "%s"}}\n' "$(wait_for_file go)" >"$dir/flow.yaml"
	start 40 24 run "$dir/flow.yaml"
	until_true shows 'w::ask'
	until_true shows '`pawl approve'
	[[ $(screen | tr -s '\n ' ' ') =~ is\ not\ running:.*publish\ all\ of\ it\ now\?\;\ \`pawl\ approve\ ([0-9]+)\`\ lets\ it\ continue,\ \`pawl\ reject ]]
	[ "$(screen | grep -c 'w  ')" = 1 ] # the previous frame is gone
	p approve "${BASH_REMATCH[1]}"
	until_true shows '▸ ask'
	until_true shows_no 'is not running'
	shows_no 'pawl reject'
	touch "$dir/go"
	until_true ended
	[ "$(code)" = 0 ]
}

@test "run honours NO_COLOR and uses ASCII in an ASCII locale" {
	printf 'name: w\ntasks:\n  a: {run: echo a}\n  b: {needs: a, foreach: 3, run: echo b}\n' >"$dir/flow.yaml"
	start 80 24 run "$dir/flow.yaml"
	until_true ended
	colored | grep -q "$(printf '\033\\[32m')"
	$tmux kill-server
	rm "$dir/code"
	env=NO_COLOR=1 locale=LC_ALL=C start 80 24 run "$dir/flow.yaml"
	until_true ended
	screen
	colored | without "$(printf '\033\\[3')"
	shows '|- + a'
	shows '`- + b ########## [3/3 ok]'
	screen | LC_ALL=C without '[^ -~]'
}

@test "run prints plain lines in a pipe or on a dumb terminal" {
	printf 'name: w\ntasks:\n  a: {run: echo a}\n' >"$dir/flow.yaml"
	term=dumb start 80 24 run "$dir/flow.yaml"
	until_true ended
	screen
	shows 'completed        w::a'
	[ "$(code)" = 0 ]
	[[ $(p run "$dir/flow.yaml" --progress auto) == *'completed        w::a'* ]]
	p run "$dir/flow.yaml" | without "$(printf '\033')"
	[[ $(p run "$dir/flow.yaml" --progress json | tail -n 1) == *'"type":"workflow.completed"'* ]]
	[ -z "$(p run "$dir/flow.yaml" --progress none)" ]
	[[ $(p run "$dir/flow.yaml" --progress tty) == *"$(printf '\033[K')"* ]]
	refused 2 'auto, tty, plain, json or none' p run "$dir/flow.yaml" --progress fancy
}

@test "Ctrl-C once cancels the run and leaves the tree on the screen" {
	printf 'name: w\ntasks:\n  a: {run: "%s"}\n  b: {needs: a, run: echo b}\n' "$(wait_for_file never)" >"$dir/flow.yaml"
	start 80 24 run "$dir/flow.yaml"
	until_true shows '▸ a'
	$tmux send-keys C-c
	until_true ended
	screen
	[ "$(code)" = 3 ]
	[ "$(status_of @last)" = cancelled ]
	shows '⊘ a'
	shows '(Ctrl-C)'
	p verify
}

@test "Ctrl-C twice leaves the run to a worker that finishes it" {
	cat >"$dir/flow.yaml" <<-EOF
		name: w
		tasks:
		  a: {run: 'trap "" TERM; $(wait_for_file go)'}
	EOF
	start 80 24 run "$dir/flow.yaml"
	until_true shows '▸ a'
	$tmux send-keys C-c
	until_true shows 'Ctrl-C again to leave it'
	$tmux send-keys C-c
	until_true ended
	screen
	[ "$(code)" = 130 ]
	shows 'was left to the workers of this state folder'
	[ "$(status_of @last)" = running ]
	touch "$dir/go"
	start_worker
	until_true has_status @last cancelled
	p verify
}

@test "as-of tree, critical path and diff fit in 80 and 40 columns" {
	cat >"$dir/flow.yaml" <<-'EOF'
		name: a-workflow-with-a-name-that-is-long
		params: {day: {type: string, default: monday}}
		tasks:
		  a-task-with-a-name-that-is-long: {run: 'test "$day" = monday'}
		  another-task-with-a-name-that-is-long: {needs: a-task-with-a-name-that-is-long, run: echo}
	EOF
	p run "$dir/flow.yaml" --progress none
	one=$(p show @last --json | jq .id)
	p run "$dir/flow.yaml" --param day=tuesday --progress none 2>/dev/null || true
	two=$(p show @last --json | jq .id)
	for width in 80 40; do
		for what in "tree $one --at 0s" "tree $one --critical" "diff $one $two"; do
			rm -f "$dir/code"
			env=NO_COLOR= start $width 40 $what
			until_true ended
			screen
			[ "$(code)" = 0 ]
			# a wrapped line would give two lines
			[ "$(screen | grep -c .)" = "$(p $what | wc -l)" ]
			[ $width = 80 ] || screen | grep -q '…$'
			$tmux kill-server
		done
	done
	rm "$dir/code"
	env=NO_COLOR=1 locale=LC_ALL=C start 40 40 tree "$one" --critical
	until_true ended
	screen | LC_ALL=C without '[^ -~]'
	colored | without "$(printf '\033\\[3')"
	shows '    TOTAL  STEP'
}

@test "events take one line each at 120, 80 and 40 columns, and are printed in full in a pipe" {
	printf 'name: w\ntasks:\n  a: {run: "true"}\n  b: {run: "exit 3"}\n' >"$dir/flow.yaml"
	p run "$dir/flow.yaml" >/dev/null || true
	id=$(p ls --json | jq .id)
	p events "$id" >"$dir/piped"
	lines=$(wc -l <"$dir/piped")
	[ "$lines" -ge 7 ]
	grep -qE 'task.failed +running -> failed +1  [0-9a-f]{16}  \{.*"exit_code":3.*\}$' "$dir/piped"
	grep -qE '^2[0-9-]{9} [0-9:]{8}\.[0-9]{6} ' "$dir/piped"
	for columns in 120 80 40; do
		rm -f "$dir/code"
		start $columns 40 events "$id"
		until_true ended
		screen
		[ "$(code)" = 0 ]
		# a wrapped line would give two lines
		[ "$(screen | grep -c .)" = "$lines" ]
		[ "$(screen | grep -cE '[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3} +[0-9]+  (task|workflow)\.')" = "$lines" ]
		[ "$columns" = 40 ] || screen | grep -q 'task.failed .*exited with code 3'
		[ "$columns" = 40 ] || screen | grep -q 'task.completed .*{"outcome":"ok",.*…'
		case $columns in
		120) screen | grep -qE 'task.failed +running -> failed +1  [0-9a-f]{16}  exited' ;;
		*) screen | without ' -> ' ;;
		esac
		$tmux kill-server
	done
}

@test "cancel with filters asks for confirmation on a terminal, and cancels only after yes or with --yes" {
	submit 3 >/dev/null
	start 80 20 cancel --kind exec
	until_true shows 'cancel 3 executions? [y/N]'
	keys Enter
	until_true ended
	shows 'pawl: nothing was changed'
	[ "$(code)" = 0 ]
	same 3 "$(p ls --status ready --json | wc -l)"
	$tmux kill-server
	rm "$dir/code"
	start 80 20 cancel --kind exec --reason enough
	until_true shows 'cancel 3 executions? [y/N]'
	submit 1 >/dev/null # it was not counted
	keys y Enter
	until_true ended
	shows '3 executions done'
	same 1 "$(p ls --status ready --json | wc -l)"
	$tmux kill-server
	rm "$dir/code"
	start 80 20 cancel --kind exec --yes
	until_true ended
	shows '1 execution done'
	shows_no 'y/N'
	p verify
}
