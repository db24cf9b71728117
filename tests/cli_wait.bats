#!/usr/bin/env bats
# pawl wait, pawl submit --wait and pawl watch: what they print while others run an execution, and how they end.
# TEST_POLL_TOO

load cli_common
load cli_run
load cli_tty

make_flows() {
	printf 'name: good\ntasks: {a: {run: "echo a"}}\n' >"$dir/good.yaml"
	printf 'name: bad\ntasks: {a: {run: "exit 3"}, b: {needs: a, run: "true"}}\n' >"$dir/bad.yaml"
	printf 'name: slow\ntasks: {a: {timeout: 100ms, run: "sleep 600 # %s"}}\n' "$mark" >"$dir/slow.yaml"
	printf 'name: open\ntasks: {a: {approval: {message: sure?}, run: "true"}}\n' >"$dir/open.yaml"
}

x() { # command...
	status=0
	p "$@" >"$dir/stdout" 2>"$dir/stderr" || status=$?
}

# Runs pawl in the background; $waiter is its pid.
begin() { # command...
	pawl --db "$db" --tenant "$tenant" "$@" >"$dir/waited" 2>"$dir/waited.err" 3>&- &
	waiter=$!
	started+=("$waiter")
}

# The program in the terminal is pawl with this command, and not one that ran before it.
runs_in_terminal() { tr '\0' ' ' <"/proc/$(pawl_pid)/cmdline" 2>/dev/null | grep -q "pawl .* $1 "; } # command

@test "wait prints each execution as it ends and exits with the code of the first that did not succeed" {
	make_flows
	open=$(p submit "$dir/open.yaml") good=$(p submit "$dir/good.yaml") bad=$(p submit "$dir/bad.yaml")
	begin wait "$open" "$good" "$bad"
	start_worker
	until_true grep -q "^execution $bad: failed: " "$dir/waited"
	until_true grep -qx "execution $good: succeeded" "$dir/waited"
	without "^execution $open" <"$dir/waited"
	p cancel "$open" >/dev/null
	wait_for "$waiter"
	[ "$status" = 3 ]
	same "execution $open: cancelled" "$(tail -n 1 "$dir/waited")"
	[ ! -s "$dir/waited.err" ]
	x wait "$good" "$bad" "$open"
	[ "$status" = 1 ]
	same "$good $bad $open" "$(sed 's/^execution \([0-9]*\): .*/\1/' "$dir/stdout" | paste -sd' ')"
	x wait "$good"
	[ "$status" = 0 ]
	x wait "$open" "$bad" --json
	[ "$status" = 3 ]
	same "$open cancelled $bad failed" "$(jq -r '.id, .status' "$dir/stdout" | paste -sd' ')"
	same "$(p show "$open" --json)" "$(head -n 1 "$dir/stdout")"
}

@test "wait exits with the codes of pawl run for a timeout and for a skipped task" {
	make_flows
	id=$(p submit "$dir/slow.yaml")
	bad=$(p submit "$dir/bad.yaml")
	p worker --drain 2>"$dir/worker"
	x wait "$id"
	[ "$status" = "$(p run "$dir/slow.yaml" --progress none >/dev/null 2>&1 || echo $?)" ]
	x wait "$(p ls --tasks "$bad" --json | jq 'select(.name == "bad::b").id')"
	[ "$status" = 3 ]
	grep -q ': skipped' "$dir/stdout"
}

@test "wait ends at its timeout, with a line for each execution that has not ended" {
	make_flows
	open=$(p submit "$dir/open.yaml") good=$(p submit "$dir/good.yaml")
	p worker --drain 2>"$dir/worker"
	x wait "$good" "$open" --timeout 200ms
	[ "$status" = 8 ]
	same "execution $good: succeeded" "$(cat "$dir/stdout")"
	same "pawl: execution $open has not ended: running" "$(cat "$dir/stderr")"
	x wait "$open" --timeout 0s
	[ "$status" = 8 ]
	refused 2 "--timeout" p wait "$open" --timeout soon
}

@test "wait reports an id that does not exist and waits for the others" {
	make_flows
	good=$(p submit "$dir/good.yaml")
	p worker --drain 2>"$dir/worker"
	x wait 12345 "$good"
	[ "$status" = 5 ]
	same "execution $good: succeeded" "$(cat "$dir/stdout")"
	grep -q 'there is no execution 12345' "$dir/stderr"
	refused 2 "'x' is not an id" p wait x
}

@test "signal ends the wait and leaves the execution alone" {
	make_flows
	open=$(p submit "$dir/open.yaml")
	p worker --drain 2>"$dir/worker"
	for command in "wait $open" "watch $open"; do
		start 80 24 "$command"
		until_true runs_in_terminal "${command%% *}"
		[[ $command != watch* ]] || until_true shows 'waits for approval'
		keys C-c
		until_true ended
		[ "$(code)" = 130 ]
		rm "$dir/code"
		$tmux kill-server
		has_status "$open" running
	done
}

@test "submit --wait prints the id, then what wait prints" {
	make_flows
	start_worker
	x submit "$dir/good.yaml" --wait
	[ "$status" = 0 ]
	id=$(head -n 1 "$dir/stdout")
	same "$id
execution $id: succeeded" "$(cat "$dir/stdout")"
	x submit "$dir/bad.yaml" --wait --json
	[ "$status" = 1 ]
	same failed "$(jq -r .status "$dir/stdout" | tail -n 1)"
	same 2 "$(jq -r .id "$dir/stdout" | wc -l)"
	x submit "$dir/open.yaml" --wait --timeout 100ms
	[ "$status" = 8 ]
	refused 2 'give both' p submit "$dir/open.yaml" --timeout 100ms
}

@test "watch in a pipe prints the lines that run prints, and exits with its code" {
	make_flows
	id=$(p submit "$dir/bad.yaml")
	begin watch "$id"
	p worker --drain 2>"$dir/worker"
	wait_for "$waiter"
	[ "$status" = 1 ]
	code=0
	p run "$dir/bad.yaml" >"$dir/ran" 2>"$dir/ran.err" || code=$?
	[ "$code" = 1 ]
	same "$(cut -c11- "$dir/ran")" "$(cut -c11- "$dir/waited")"
	grep -q "^pawl: execution $id failed" "$dir/waited.err"
	x watch "$id"
	[ "$status" = 1 ]
	same "$(cat "$dir/waited")" "$(cat "$dir/stdout")"
	x watch "$id" --json
	[ "$status" = 1 ]
	same "$(p show "$id" --json)" "$(cat "$dir/stdout")"
	x watch "$id" --progress json
	same "$(p events "$id" --json)" "$(cat "$dir/stdout")"
	refused 2 'auto, tty, plain, json or none' p watch "$id" --progress fancy
	refused 5 'there is no execution 12345' p watch 12345
}

@test "watch on a terminal shows the live tree until the execution ends" {
	printf 'name: w\ntasks:\n  a: {run: "echo reading; %s"}\n  b: {needs: a, run: "exit 3"}\n' "$(wait_for_file go)" >"$dir/flow.yaml"
	id=$(p submit "$dir/flow.yaml")
	start 80 24 watch "$id"
	until_true shows '· b  waits for needs: 1 left'
	start_worker
	until_true shows '▸ a'
	until_true shows '│ reading'
	touch "$dir/go"
	until_true ended
	screen
	[ "$(code)" = 1 ]
	shows '├─ ✔ a'
	shows '└─ ✘ b'
	[ "$(screen | grep -c '✔ a')" = 1 ] # no older frame remains
	same failed "$(status_of "$id")"
}
