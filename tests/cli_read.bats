#!/usr/bin/env bats
# The output of the reading commands, for people and for programs.

load cli_common

setup() { make_database; }
teardown() {
	end_worker
	remove_database
}

@test "waiting job is shown with the reason why it waits" {
	id=$(submit '{"ms": 1}')
	same "execution $id, exec
name exec::nap
status ready, attempt 0 of 3
waits for worker: for lane function:nap in queue default
queue default, priority 0, executor function
requested T UTC
by U@H
input {\"ms\":1}
see also pawl why $id" "$(p show "$id" | plain)"
}

@test "ended job is shown with its times, worker and result" {
	id=$(submit '{"ms": 1}')
	work
	same "execution $id, exec
name exec::nap
status succeeded, attempt 1 of 3
queue default, priority 0, executor function
requested T UTC
by U@H
started T UTC, waited D
finished T UTC, ran D
worker W on H
input {\"ms\":1}
result {\"slept\":true}" "$(p show "$id" | plain)"
}

@test "failed job is shown with its error and exit code" {
	id=$(submit '{"fail": "x"}')
	work
	run p show "$id"
	[ "$status" = 0 ]
	[[ $output == *'status     failed, attempt 3 of 3'* ]]
	[[ $output == *'error      its input makes it fail'* ]]
	[[ $output == *'exit code  3'* ]]
}

@test "JSON of an execution has all fields in order" {
	submit '{"ms":
		1}'
	work
	run p show @last --json
	[ "${#lines[@]}" = 1 ]
	same '{"id":1,"parent":null,"root":1,"depth":0,"kind":"exec","name":"exec::nap","status":"succeeded","attempt":1,"max_attempts":3,"queue":"default","priority":0,"executor":"function","worker":"W","host":"H","requested_at":"T","requested_by":"U@H","started_at":"T","finished_at":"T","duration_us":N,"idle_us":0,"exit_code":null,"signal":null,"error":null,"input":{"ms": 1},"outputs":{"slept": true},"result":{"slept": true},"usage":null,"waiting":null,"paused":false,"rerun_of":null,"workflow_task":null,"workflow_execution":null}' \
		"$(echo "$output" | tr '\t' ' ' | plain)"
}

@test "@last is the newest execution without a parent" {
	refused 5 'there are no executions yet' p show @last
	submit 3
	top=$(submit '1.5')
	submit '2.5' --parent "$top"
	[[ $(p show @last --json) == "{\"id\":$top,"* ]]
}

@test "tree is printed with one line per execution, or as one JSON object" {
	top=$(submit '"top"')
	a=$(submit '"a"' --parent "$top")
	b=$(submit '"b"' --parent "$top")
	c=$(submit '"c"' --parent "$a")
	same ". exec::nap #$top ready waits for worker: for lane function:nap in queue default waiting D
|- . exec::nap #$a ready waits for worker: for lane function:nap in queue default waiting D
| \`- . exec::nap #$c ready waits for worker: for lane function:nap in queue default waiting D
\`- . exec::nap #$b ready waits for worker: for lane function:nap in queue default waiting D" "$(LC_ALL=C p tree "$top" | plain)"
	run p tree "$top" --json
	[ "${#lines[@]}" = 1 ]
	same "$top $a $c $b" "$(grep -o '"id":[0-9]*' <<<"$output" | cut -d: -f2 | paste -sd' ')"
	[[ $output == *"\"children\":[]}]},{\"id\":$b,"* ]]
	[[ $output == *']}' ]]
	work
	[[ $(p tree "$a") == *"#$a  succeeded  attempt 1/3  waited"*'  on '* ]]
	p verify
}

@test "events of an execution show its whole history" {
	id=$(submit '{"ms": 1}')
	work
	same "T $id task.created pending 0 {\"by\":\"U@H\"}
T $id task.marked_ready pending -> ready 0
T $id task.claimed ready -> running 1 W on H
T $id task.started running 1 W {\"ago_us\":N}
T $id task.completed running -> succeeded 1 W {\"outcome\":\"ok\",\"duration_us\":N}" "$(p events "$id" | plain)"
	run p events "$id" --json --limit 1
	[ "${#lines[@]}" = 1 ]
	[[ $(plain <<<"$output") == '{"sequence_num":1,"execution":'"$id"',"root":'"$id"',"seq":1,"type":"task.created","from":null,"to":"pending","attempt":0,"epoch":0,"worker":null,"host":null,"data":{"by":"U@H"},"created_at":"T"}' ]]
}

@test "events of an execution include those of its descendants unless only its own are requested" {
	top=$(submit '"top"')
	submit '"a"' --parent "$top"
	[ "$(p events "$top" | wc -l)" = 4 ]
	[ "$(p events "$top" --self | wc -l)" = 2 ]
	refused 2 '--self needs the id' p events --self
}

@test "events that are cut at the default limit are followed by a note on stderr" {
	for _ in $(seq 26); do submit '{"ms": 1}'; done # each has at least four events
	work
	p events --json >"$dir/out" 2>"$dir/err"
	[ "$(wc -l <"$dir/out")" = 100 ]
	grep -q 'only the newest 100 events are shown: use --limit N' "$dir/err"
	p events --limit 0 >"$dir/out" 2>"$dir/err"
	[ "$(wc -l <"$dir/out")" -gt 100 ]
	[ ! -s "$dir/err" ]
	p events --type task.completed >"$dir/out" 2>"$dir/err"
	[ "$(wc -l <"$dir/out")" = 26 ]
	[ ! -s "$dir/err" ]
}

@test "events without an id are listed newest first, filtered by type and time" {
	submit 3 >/dev/null
	submit '{"fail": "x"}' >/dev/null
	work
	[ "$(p events | head -n 1 | wc -l)" = 1 ]
	[ "$(p events --limit 2 | wc -l)" = 2 ]
	[ "$(p events --type created | wc -l)" = 4 ]
	[ "$(p events --type task.failed | wc -l)" = 1 ]
	[ "$(p events --type retry_scheduled,failed | wc -l)" = 3 ]
	[ "$(p events --since 1h --type created | wc -l)" = 4 ]
	[ "$(p events --until 1h | wc -l)" = 0 ]
	[ "$(p events --since 2200-01-01 | wc -l)" = 0 ]
	first=$(p events --json --limit 1 | grep -o '"sequence_num":[0-9]*')
	last=$(p events --json --limit 0 | tail -n 1 | grep -o '"sequence_num":[0-9]*')
	[ "$last" = '"sequence_num":1' ]
	[ "$first" != "$last" ]
	refused 2 "'exploded' is not an event type" p events --type exploded
	refused 2 "'soon' is not a time" p events --since soon
}

@test "events --follow of an execution misses no event and ends with the execution" {
	id=$(submit '{"ms": 300}')
	p events "$id" --follow --json >"$dir/followed" &
	follower=$!
	work
	wait "$follower"
	diff "$dir/followed" <(p events "$id" --json)
	[ "$(wc -l <"$dir/followed")" = 5 ]
}

@test "events --follow without an id starts with the next event" {
	submit 2 >/dev/null
	p events --follow --json --limit 4 >"$dir/followed" &
	follower=$!
	# it has started when it prints something; until then new events keep coming
	while kill -0 "$follower" 2>/dev/null; do
		submit '{"ms": 1}' >/dev/null
		sleep 0.1
	done
	wait "$follower"
	[ "$(wc -l <"$dir/followed")" = 4 ]
	without '"sequence_num":1,' <"$dir/followed"
}

@test "queue lists each queue with its number of waiting jobs" {
	submit 5 >/dev/null
	same "QUEUE READY HELD RUNNING LIMIT OLDEST WAITS
default 5 0 0 - D" "$(p queue | plain)"
	[[ $(p queue --json) == '{"queue":"default","ready":5,"held":0,"running":0,"oldest_ready_at":"20'*',"limit":null,"last_order":null,"submitted":0}' ]]
	work
	same "QUEUE READY HELD RUNNING LIMIT OLDEST WAITS
default 0 0 0 - -" "$(p queue | plain)"
}

@test "workers lists each worker with its leases" {
	submit 1 >/dev/null
	work
	same "WORKER HOST PID HOLDS ROOM SINCE (UTC) SEEN AGO STATE" "$(p workers | plain)"
	work_on "$(submit '{"ms": 60000}')"
	same "WORKER HOST PID HOLDS ROOM SINCE (UTC) SEEN AGO STATE
W $(hostname) $worker 1 4 T D alive" "$(p workers | plain)"
	[[ $(p workers --json) == '{"id":"'*'","host":"'*'"leases":1,'* ]]
}

@test "verify prints what it checked and compares the database with a checkpoint" {
	submit 4 >/dev/null
	work
	[[ $(p verify) =~ ^verify:\ [0-9]+\ invariants\ hold\ over\ 4\ executions,\ 20\ events$ ]]
	p verify --save "$dir/point"
	submit 2 >/dev/null
	work
	p verify --since "$dir/point"
}

@test "verify names a violation and exits with 1" {
	id=$(submit '{"ms": 1}')
	sql "UPDATE executions SET status = 4 WHERE id = $id"
	run p verify
	[ "$status" = 1 ]
	[[ $output == *"I06 execution $id: "* ]]
	[[ ${lines[-1]} =~ ^verify:\ [0-9]+\ violation ]]
	run p verify --json
	[ "$status" = 1 ]
	[[ $output == *'{"invariant":"I06","execution":'"$id"',"detail":'* ]]
}

@test "control characters in the name of a job do not reach the terminal" {
	id=$(submit '"a\u001b[31mred\u0007"')
	sql "UPDATE executions SET name = 'a' || chr(27) || 'b' WHERE id = $id" 2>/dev/null ||
		sql "UPDATE executions SET name = 'a' || char(27) || 'b' WHERE id = $id"
	[[ $(p show "$id") == *'name       ab'* ]]
	p tree "$id" | without "$(printf '\033')"
	[[ $(p show "$id" --json) == *'"name":"a\u001bb"'* ]]
}

@test "command ends silently if its output pipe is closed, and with an error if the device is full" {
	submit 50 >/dev/null
	p events --limit 0 | head -n 1
	status=0
	p events --limit 0 >/dev/full 2>"$dir/stderr" || status=$?
	[ "$status" = 1 ]
	same "pawl: can't write the output: No space left on device" "$(cat "$dir/stderr")"
}

@test "PAWL_TRACE prints each statement with its duration on stderr" {
	submit 1 >/dev/null
	PAWL_TRACE=1 p show 1 >"$dir/stdout" 2>"$dir/stderr"
	grep -Eq '^trace: query_execution +[0-9.]+ ms +1 rows$' "$dir/stderr"
	without trace <"$dir/stdout"
	[ "$(PAWL_TRACE=1 p tree 1 2>&1 >/dev/null | grep -c query_)" = 1 ]
}
