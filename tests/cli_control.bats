#!/usr/bin/env bats
# Operator commands: cancel, why, logs, metrics, queue limits and pauses, the fence.

load cli_common

setup() { make_database; }
teardown() {
	end_worker
	remove_database
}

# Like sql() of cli_common, but waits for a worker that is writing.
sql() {
	case $PAWL_TEST_DB in
	sqlite) sqlite3 -cmd '.timeout 10000' "$dir/pawl.$tenant.db" "$1" ;;
	postgres) psql -qAt "$db" -c "SET search_path = pawl_$tenant; $1" ;;
	esac
}

# Stores output of an attempt as a worker would.
put_log() { # execution attempt start dropped text
	local hex len
	hex=$(printf %s "$5" | od -An -v -tx1 | tr -d ' \n')
	len=$((${#hex} / 2))
	case $PAWL_TEST_DB in
	sqlite) hex="x'$hex'" ;;
	postgres) hex="'\\x$hex'::bytea" ;;
	esac
	sql "INSERT INTO attempt_logs (execution, attempt, epoch, start, raw, dropped, packed, data)
		VALUES ($1, $2, 1, $3, $len, $4, 0, $hex)"
}

@test "cancel ends a waiting job, records the user, and refuses a job that has ended" {
	a=$(submit '{"ms": 1}')
	b=$(submit '{"ms": 1}')
	same "execution $a: cancelled
execution $b: cancelled" "$(p cancel "$a" "$b" --reason 'not needed')"
	[[ $(p events "$a" --type cancelled) == *'"by":"'*'@'*'","reason":"not needed"}' ]]
	[[ $(p why "$a") == *'it was cancelled at '*', by '*'@'*': not needed' ]]
	refused 2 "execution $a has already ended; its status is cancelled" p cancel "$a"
	refused 5 'there is no execution 777' p cancel 777
	refused 2 'is not an id' p cancel x
	refused 2 'needs more arguments' p cancel
	refused 2 'the reason is not valid UTF-8' p cancel "$(submit 1 | cut -d' ' -f1)" --reason "$(printf '\377')"
	p verify
}

@test "cancel of several ids cancels the existing ones and reports a missing one" {
	a=$(submit '{"ms": 1}')
	b=$(submit '{"ms": 1}')
	run p cancel "$a" 777 "$b" --json
	[ "$status" = 5 ]
	[[ $output == *"{\"id\":$a,\"status\":\"cancelled\",\"left\":0}"* ]]
	[[ $output == *'there is no execution 777'* ]]
	[[ $output == *"{\"id\":$b,\"status\":\"cancelled\",\"left\":0}"* ]]
}

@test "cancel ends waiting descendants and asks running jobs to end" {
	top=$(submit '{"ms": 30000}')
	work_on "$top"
	end_worker
	child=$(submit '{"ms": 1}' --parent "$top")
	same "execution $top: asked to end" "$(p cancel "$top" --reason stop)"
	[[ $(p show "$child" --json) == *'"status":"cancelled"'* ]]
	run p why "$top"
	[[ ${lines[1]} == '  attempt 1 of 3 has been running since '*' on worker '*', lease until '* ]]
	[[ ${lines[2]} == '  it has not ended yet: its cancellation was requested at '*', by '*': stop' ]]
	same "execution $top: asked to end" "$(p cancel "$top")"
	p verify
}

@test "why names the missing worker and the jobs ahead of a waiting job, and the outcome of an ended job" {
	id=$(submit '{"fail": "x"}')
	later=$(submit '{"ms": 1}')
	same "execution $later, exec::nap: ready
 no worker is alive: one that serves lane function:nap in queue default is needed; 1 is ahead of it" \
		"$(p why "$later" | plain)"
	same "{\"id\":$later,\"name\":\"exec::nap\",\"status\":\"ready\",\"reasons\":[{\"code\":\"no_worker\",\"text\":\"no worker is alive: one that serves lane function:nap in queue default is needed; 1 is ahead of it\",\"lane\":\"function:nap\",\"queue\":\"default\",\"before\":1,\"alive\":0,\"serving\":0,\"room\":0,\"busy\":0,\"draining\":0}]}" \
		"$(p why "$later" --json)"
	work
	same "execution $id, exec::nap: failed
 it failed at T in attempt 3 of 3: its input makes it fail; \`pawl logs $id\` shows its output
 attempt 1 failed after D with exit code 3: its input makes it fail
 attempt 2 failed after D with exit code 3: its input makes it fail
 attempt 3 failed after D with exit code 3: its input makes it fail" "$(p why "$id" | plain)"
	same "execution $later, exec::nap: succeeded
 it succeeded at T in attempt 1 of 3" "$(p why @last | plain)"
	refused 5 'there is no execution 777' p why 777
}

@test "why distinguishes a live worker from a silent worker" {
	id=$(submit '{"ms": 30000}')
	work_on "$id"
	[[ $(p workers --json) == *'"serves":{"function:nap":["default"]},"executors":null,"state":"alive","drain":null}' ]]
	same "execution $id, exec::nap: running
 attempt 1 of 3 has been running since T (D) on worker W ($(hostname), pid $worker), lease until T" "$(p why "$id" | plain)"
	end_worker
	other=$(submit '{"ms": 1}')
	sql "UPDATE workers SET seen_at = $([ "$PAWL_TEST_DB" = sqlite ] && echo 'seen_at - 60000000' ||
		echo "seen_at - interval '60 s'")"
	[[ $(p why "$id") == *'its worker was last seen 1 m '*' ago; another worker may adopt it after its lease expires at '* ]]
	[[ $(p why "$other") == *'no worker is alive'* ]]
	[[ $(p metrics) == *'pawl_workers{state="silent"} 1'* ]]
}

@test "paused queue resumes with the limit that it had" {
	submit 5 >/dev/null
	same 'queue default: at most 2 at once' "$(p queue set default --limit 2)"
	same "QUEUE READY HELD RUNNING LIMIT OLDEST WAITS
default 2 3 0 2 of 2 D" "$(p queue | plain)"
	[[ $(p why 5) == *'the limit queue:default is full: 2 of 2 in use, by 1 exec::nap (ready), 2 exec::nap (ready); 2 are ahead of it; change it with `pawl queue set default --limit N`' ]]
	same 'queue default: paused; running jobs continue' "$(p queue pause default --reason 'new disks')"
	same "QUEUE READY HELD RUNNING LIMIT OLDEST WAITS
default 0 5 0 paused -" "$(p queue | plain)"
	[[ $(p queue --json) == *'"paused":{"since":"20'*'","by":"'*'@'*'","reason":"new disks","limit":2},"limit":{"max":0,"used":0},"last_order":{"action":"paused",'*'"reason":"new disks","data":null},"submitted":0}' ]]
	[[ $(p why 1) == *'the queue default has been paused since '*', by '*'@'*': new disks; resume it with `pawl queue resume default`' ]]
	[[ $(p metrics) == *'pawl_queue_paused{queue="default"} 1'* ]]
	same 'queue default: at most 3 at once, once it is resumed' "$(p queue set default --limit 3)"
	[[ $(p queue resume default --reason 'they are in' --json) == '{"queue":"default","ready":3,"held":2,'*'"paused":null,"limit":{"max":3,"used":3},"last_order":{"action":"resumed","at":"20'*'","by":"'*'@'*'","reason":"they are in","data":null},"submitted":0}' ]]
	same 'queue default: no limit' "$(p queue set default --limit none)"
	[[ $(p queue --json) == *'"ready":5,'*'"limit":null,"last_order":{"action":"limited",'*'"data":{"limit":null}},"submitted":0}' ]]
	p verify
	work
	p verify
}

@test "invalid change to a queue is refused" {
	refused 2 "the queue 'default' is not paused" p queue resume default
	refused 2 "pawl queue has no subcommand 'stop': write set, pause or resume" p queue stop default
	refused 2 'missing queue: write `pawl queue pause QUEUE`' p queue pause
	refused 2 'missing limit: write' p queue set default
	refused 2 "--limit needs a whole number of at least 0, or none, but got 'few'" p queue set default --limit few
	refused 2 "--limit needs a whole number of at least 0, or none, but got '-1'" p queue set default --limit -1
	refused 2 '--limit belongs to' p queue pause default --limit 3
	refused 2 '--reason belongs to' p queue --reason x
	refused 2 'the queue is empty' p queue pause ''
	same 'QUEUE READY HELD RUNNING LIMIT OLDEST WAITS' "$(p queue | plain)"
}

@test "logs print the output of an attempt and mark dropped parts" {
	id=$(submit '{"fail": "x"}')
	run p logs "$id"
	[ "$status" = 0 ]
	same "pawl: execution $id has not started" "$output"
	work
	put_log "$id" 1 0 0 $'first\n'
	put_log "$id" 3 0 0 $'one\ntwo\nthr'
	put_log "$id" 3 11 12345 $'ee\nfour\n'
	same $'one\ntwo\nthr\n[… 12,345 bytes missing …]\nee\nfour' "$(p logs "$id")"
	same first "$(p logs "$id" --attempt 1)"
	same '' "$(p logs "$id" --attempt 2 2>"$dir/stderr")"
	same "pawl: attempt 2 of execution $id has no stored output" "$(cat "$dir/stderr")"
	same '' "$(p logs "$id" --attempt 2 --json 2>&1)"
	same $'ee\nfour' "$(p logs "$id" --tail 2 | grep -v 'bytes missing')"
	same four "$(p logs "$id" --tail 1)"
	same '' "$(p logs "$id" --tail 0)"
	same $'one\ntwo\nthr\n[… 12,345 bytes missing …]\nee\nfour' "$(p logs "$id" --follow)"
	same "{\"execution\":$id,\"attempt\":3,\"from\":0,\"dropped\":0,\"text\":\"one\\ntwo\\nthr\"}
{\"execution\":$id,\"attempt\":3,\"from\":12356,\"dropped\":12345,\"text\":\"ee\\nfour\\n\"}" "$(p logs "$id" --json)"
	refused 5 "there is no attempt 4: execution $id has 3 so far" p logs "$id" --attempt 4
	refused 5 'there is no execution 777' p logs 777
	refused 2 "--tail needs a whole number of at least 0, but got 'few'" p logs "$id" --tail few
}

@test "control characters in logs are removed on a terminal and kept in a pipe" {
	command -v script >/dev/null || skip 'script is not installed'
	id=$(submit '{"ms": 1}')
	work
	put_log "$id" 1 0 0 "$(printf 'a\033[31mb\tc\302\233d\007\302')"
	put_log "$id" 1 $(printf 'a\033[31mb\tc\302\233d\007\302' | wc -c) 0 "$(printf '\251\n\204')"
	same "$(printf 'a[31mb\tcd©\n\204' | od -c)" \
		"$(script -qec "pawl --db '$db' --tenant '$tenant' logs $id" /dev/null </dev/null | tr -d '\r' | od -c)"
	same "$(printf 'a\033[31mb\tc\302\233d\007©\n\204' | od -c)" "$(p logs "$id" | od -c)"
	p logs "$id" --json | grep -q '�'
}

@test "logs --follow prints the whole output and ends with the attempt" {
	id=$(submit '{"ms": 60000}')
	p logs "$id" --follow >"$dir/followed" 2>"$dir/stderr" 3>&- &
	follower=$!
	work_on "$id" 500
	put_log "$id" 1 0 0 $'began\n'
	for _ in $(seq 2400); do
		[ ! -s "$dir/followed" ] || break
		sleep 0.05
	done
	same began "$(cat "$dir/followed")"
	end_worker
	put_log "$id" 1 6 0 $'ended\n'
	kill -0 "$follower"
	work_on "$id" 500 # the worker finds the attempt lost and starts another one
	wait "$follower"
	same $'began\nended' "$(cat "$dir/followed")"
	same '' "$(cat "$dir/stderr")"
}

@test "metrics are valid Prometheus text" {
	submit 3 >/dev/null
	work
	p metrics >"$dir/metrics"
	grep -qx 'pawl_queue_jobs{queue="default",state="ready"} 0' "$dir/metrics"
	grep -qx 'pawl_attempts_total{queue="default",executor="function"} 3' "$dir/metrics"
	grep -qx 'pawl_outcomes_total{queue="default",executor="function",outcome="ok"} 3' "$dir/metrics"
	grep -qx "pawl_worker_outcomes_total{host=\"$(hostname)\",worker=\"\",outcome=\"ok\"} 3" "$dir/metrics"
	grep -qx 'pawl_executor_running{executor="function"} 0' "$dir/metrics"
	grep -qx 'pawl_wait_seconds_bucket{queue="default",executor="function",le="+Inf"} 3' "$dir/metrics"
	grep -qx 'pawl_wait_seconds_count{queue="default",executor="function"} 3' "$dir/metrics"
	grep -qx 'pawl_run_seconds_count{queue="default",executor="function"} 3' "$dir/metrics"
	# each line is a comment, or a sample of the family whose TYPE line came last; no family occurs twice
	awk '/^# HELP [a-z_]+ ./ { next }
		/^# TYPE [a-z_]+ (gauge|counter|histogram)$/ { if (seen[$3]++) exit 1; family = $3; next }
		!/^[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [0-9.]+$/ { exit 1 }
		index($0, family) != 1 { exit 1 }' "$dir/metrics"
	p metrics --json | grep -qx '{"metric":"pawl_attempts_total","labels":{"queue":"default","executor":"function"},"value":3}'
	[ "$(p metrics --json | wc -l)" = "$(grep -vc '^#' "$dir/metrics")" ]
}

@test "fence requires confirmation and revokes the lease of every running job" {
	id=$(submit '{"ms": 30000}')
	work_on "$id"
	end_worker
	refused 2 'lacks commits, write `pawl admin fence --yes`' p admin fence
	[[ $(p admin fence --yes) =~ ^'generation '[0-9]{13}'; 1 running job was taken from its worker'$ ]]
	[[ $(p why "$id") == *'a worker of the state folder '*' may adopt it now ('* ]]
	[[ $(p admin fence --yes --json) =~ ^'{"generation":'[0-9]{13}',"jobs":0}'$ ]]
	[[ $(p metrics) == *$'pawl_leases 1\n'*$'pawl_orphans 1\n'* ]]
	p verify
}
