#!/usr/bin/env bats
# Jobs whose worker, shim or command is killed, hangs or is frozen. A ledger outside the database records what really
# started and ended. TEST_LONG

load cli_common
load cli_run

setup() {
	make_database
	make_state
	ledger=$dir/ledger
	touch "$ledger"
	mkfifo "$dir/gate"
	cat >"$dir/task" <<-END
		# \$1: exit code
		echo "\$PAWL_EXECUTION_ID \$PAWL_ATTEMPT begin \$\$" >>"$ledger"
		read line <"$dir/gate"
		echo "\$PAWL_EXECUTION_ID \$PAWL_ATTEMPT end \$\$" >>"$ledger"
		exit "\$1"
	END
	configure 10s
	export PAWL_CONFIG=$dir/pawl.yaml
}
teardown() {
	end_all
	remove_database
}

# A test uses a short lease only where it waits for the lease to end: a claimed job has half of its lease to start.
# Under load that may expire; then the job is returned, and its next claim has another number.
configure() { # lease [host_grace]
	cat >"$dir/pawl.yaml" <<-END
		worker: {lease: $1, host_grace: ${2:-30s}, slots: 60}
		executors: {process: {grace: 500ms}}
	END
}

# Opens the gate: writes a line for every task that waits now or later. Processes started later do not inherit the
# descriptor.
open_gate() {
	exec 9<>"$dir/gate"
	printf '\n%.0s' $(seq 1000) >&9
}

# Every process of the job carries the mark.
later() { p exec --detach --env MARK="$mark" "$@"; }

# Submits tasks; every tenth fails.
submit_tasks() { # how many
	local i
	ids=()
	for i in $(seq "$1"); do
		ids+=("$(later --name "task-$i" -- sh "$dir/task" $((i % 10 == 0 ? 3 : 0)))")
	done
}

nothing_marked() { [ -z "$(marked)" ]; }
begun() { grep -c begin "$ledger"; }
have_begun() { [ "$(begun)" = "$1" ]; }
events_of_type() { p events --type "$1" --json --limit 100000 | wc -l; }
are_adopted() { [ "$(events_of_type adopted)" -ge "$1" ]; }
all_ended() { [ "$(events_of_type completed,failed,timed_out,cancelled,abandoned)" = "$1" ]; }

# Each task started once, ended once in the same process, and has its own exit status.
check_tasks() { # how many
	local i
	same "$1" "$(grep -c begin "$ledger")"
	same "$1" "$(awk '$3 == "begin" { print $1, $2, $4 }' "$ledger" | sort -u | wc -l)"
	same "$(awk '$3 == "begin" { print $1, $2, $4 }' "$ledger" | sort)" "$(awk '$3 == "end" { print $1, $2, $4 }' "$ledger" | sort)"
	same "$(($1 / 10))" "$(events_of_type failed)"
	for i in $(seq 10 10 "$1"); do
		[[ $(p show "${ids[i - 1]}" --json) == *'"status":"failed","attempt":1,'*'"exit_code":3,'* ]]
	done
	same $(($1 - $1 / 10)) "$(events_of_type completed)"
	same "$1" "$(events_of_type claimed)"
	until_true nothing_marked
	p verify --host
}

@test "50 commands outlive the kill -9 of their worker and are finished by the next worker" {
	configure 1h 10h # the next worker must not wait for leases to expire
	submit_tasks 50
	start_worker
	until_true have_begun 50
	kill -9 "$worker"
	wait_for "$worker"
	same 50 "$(marked | wc -l)"
	start_worker
	until_true are_adopted 50
	open_gate
	until_true all_ended 50
	check_tasks 50
}

@test "running worker adopts a killed worker's commands immediately" {
	configure 1h 10h # the other worker must not wait for leases to expire
	submit_tasks 20
	start_worker
	first=$worker
	until_true have_begun 20
	start_worker
	kill -9 "$first"
	wait_for "$first"
	until_true are_adopted 20
	open_gate
	until_true all_ended 20
	check_tasks 20
}

# Stops the process at a moment at which it does not hold the database's lock.
stop_outside() { # pid
	local i
	for i in $(seq 50); do
		kill -STOP "$1"
		! timeout 5 pawl --db "$db" --tenant "$tenant" exec --detach --queue nowhere -- true >/dev/null || return 0
		kill -CONT "$1"
	done
	return 1
}

counted() { p metrics | awk -v name="$1" '$1 == name { n += $2 } END { print n + 0 }'; }
# Each expired lease is counted as lost, exactly once. The frozen worker learns of it from its next heartbeat, or because its
# report is refused, whichever comes first.
lost_leases_are_counted() {
	echo "lost $(counted pawl_leases_lost_total), refused $(counted pawl_outcomes_refused_total)"
	[ "$(counted pawl_leases_lost_total)" = "$1" ] && [ "$(counted pawl_outcomes_refused_total)" -le "$1" ]
}

# Freezes a worker, whose pid is $first, while 20 commands of it run, until another worker has adopted them.
freeze_until_adopted() {
	configure 2s
	submit_tasks 20
	start_worker
	first=$worker
	until_true have_begun 20
	start_worker
	stop_outside "$first"
	until_true are_adopted 20
}

@test "worker frozen until its leases expired has its reports refused and counted, and signals nothing" {
	freeze_until_adopted
	open_gate
	until_true all_ended 20
	kill -CONT "$first"
	until_true lost_leases_are_counted 20
	kill -0 "$first"
	same 20 "$(events_of_type adopted)"
	check_tasks 20
}

@test "worker frozen until its leases expired signals nothing while its commands still run" {
	freeze_until_adopted
	kill -CONT "$first"
	until_true lost_leases_are_counted 20
	same 20 "$(marked | wc -l)"
	open_gate
	until_true all_ended 20
	check_tasks 20
}

@test "worker asked to stop hands its commands over without using an attempt" {
	submit_tasks 20
	start_worker
	until_true have_begun 20
	kill -TERM "$worker"
	wait_for "$worker"
	[ "$status" = 0 ]
	same 0 "$(events_of_type released)"
	start_worker
	until_true are_adopted 20
	kill -INT "$worker" || true # ignored in the background of a shell
	kill -TERM "$worker"
	kill -TERM "$worker" 2>/dev/null || true
	wait_for "$worker"
	[ "$status" = 0 ]
	open_gate
	p worker --drain 2>"$dir/stderr"
	check_tasks 20
}

@test "task that kills its worker fails after exactly its maximum number of attempts" {
	cat >"$dir/killer" <<-END
		echo "\$PAWL_EXECUTION_ID \$PAWL_ATTEMPT begin \$\$" >>"$ledger"
		kill -9 \$(cat "$dir/pid") \$PPID
		sleep 1000
	END
	id=$(later --retry 2 -- sh "$dir/killer")
	for _ in $(seq 20); do
		sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$dir/pid" \
			pawl --db "$db" --tenant "$tenant" worker --drain 2>"$dir/stderr" 3>&- &
		started+=($!)
		wait_for $!
		[ "$status" != 0 ] || break
	done
	has_status "$id" failed
	has_event "$id" abandoned
	same "$id 1
$id 2
$id 3" "$(cut -d' ' -f1-2 "$ledger")"
	same '' "$(marked)"
	p verify --host
}

@test "task that ignores signals, starts a daemon and floods its output ends without leftovers" {
	flood=$([ -n "${PAWL_TEST_FULL:-}" ] && echo 1000000000 || echo 200000000) # bytes
	cat >"$dir/poison" <<-END
		trap '' TERM INT HUP
		(setsid sh -c 'trap "" TERM; exec 1>&- 2>&-; while :; do sleep 1; done' &)
		head -c $flood /dev/zero | tr '\\0' x
		echo flooded >>"$ledger"
		exec 1>&- 2>&-
		while :; do sleep 1; done
	END
	start_worker
	id=$(later --timeout 30s -- sh "$dir/poison")
	until_true grep -q flooded "$ledger"
	p cancel "$id"
	until_true has_status "$id" cancelled
	until_true nothing_marked
	peak=$(awk '/^VmHWM:/ { print $2 }' "/proc/$worker/status")
	echo "the worker had $peak kB at most"
	[[ $PAWL_TEST_BUILD == *san ]] || [ "$peak" -lt 65536 ]
	id=$(later --timeout 300ms -- sh -c "trap '' TERM; while :; do sleep 0.1; done")
	until_true has_status "$id" timed_out
	until_true nothing_marked
	p verify --host
}

# Kills pawl exec itself while its command waits for the gate.
kill_exec() {
	pawl --db "$db" --tenant "$tenant" exec --env MARK="$mark" --retry 1 -- sh "$dir/task" 3 >"$dir/stdout" 2>"$dir/stderr" 3>&- &
	started+=($!)
	until_true have_begun 1
	kill -9 "${started[-1]}"
	wait_for "${started[-1]}"
	id=$(awk '{ print $1; exit }' "$ledger")
	ids=("$id")
	has_status "$id" running
}

# Adopted once and retried once by the worker, in the foreground queue of the killed process.
check_exec() {
	until_true has_status "$id" failed
	same "$id 1 begin
$id 1 end
$id 2 begin
$id 2 end" "$(cut -d' ' -f1-3 "$ledger")"
	same 1 "$(events_of_type adopted)"
	until_true nothing_marked
	p verify --host
}

@test "command of a killed pawl exec is finished by a worker started later" {
	kill_exec
	start_worker
	until_true are_adopted 1
	open_gate
	check_exec
}

@test "command of a killed pawl exec is finished by a running worker" {
	start_worker
	kill_exec
	until_true are_adopted 1
	open_gate
	check_exec
}

@test "command of a pawl exec killed before a fence is retried by a worker after it" {
	kill_exec
	p admin fence --yes
	start_worker
	open_gate
	until_true has_status "$id" failed
	same "$id 1 begin
$id 2 begin
$id 2 end" "$(cut -d' ' -f1-3 "$ledger")"
	until_true nothing_marked
	p verify --host
}

# As after a restore: the run ended in the time that was lost, and a run that ends removes its file.
@test "command is retried by a worker after the fence if its pawl exec ended in the time lost by a restore" {
	kill_exec
	rm "$dir"/state/pawl/*/workers/*
	p admin fence --yes
	start_worker
	open_gate
	until_true has_status "$id" failed
	same "$id 1 begin
$id 2 begin
$id 2 end" "$(cut -d' ' -f1-3 "$ledger")"
	until_true nothing_marked
	p exec -- true # a new foreground run is not served by the worker
	same 2 "$(p events "$id" --type claimed --json | wc -l)"
	p verify --host
}

@test "workflow of a pawl run that had ended before the restore is finished by a worker after the fence" {
	printf 'name: w\ntasks:\n  a: {run: "sh %s 0", retry: {max: 1}}\n  b: {needs: a, run: "echo done"}\n' "$dir/task" >"$dir/w.yaml"
	pawl --db "$db" --tenant "$tenant" run "$dir/w.yaml" >"$dir/stdout" 2>"$dir/stderr" 3>&- &
	started+=($!)
	until_true have_begun 1
	kill -9 "${started[-1]}"
	wait_for "${started[-1]}"
	rm "$dir"/state/pawl/*/workers/*
	p admin fence --yes
	start_worker
	open_gate
	until_true has_status @last succeeded
	p verify --host
}

@test "command of a pawl exec killed between two attempts is retried by a worker" {
	local how
	echo 'retry: {delay: 5m}' >>"$dir/pawl.yaml"
	for how in HUP KILL; do
		pawl --db "$db" --tenant "$tenant" exec --retry 1 -- sh -c "echo \$PAWL_ATTEMPT; exit 3" \
			>"$dir/stdout.$how" 2>"$dir/stderr" 3>&- &
		until_true grep -qs 1 "$dir/stdout.$how"
		id=$(p show @last --json | sed 's/{"id":\([0-9]*\),.*/\1/')
		until_true has_event "$id" retry_scheduled
		kill "-$how" $!
		wait_for $!
		[ "$status" = $((128 + $(kill -l $how))) ]
		has_status "$id" ready
		sql "UPDATE timers SET due_at = (SELECT requested_at FROM executions WHERE id = $id)" # the delay has passed
		p worker --drain 2>"$dir/stderr"
		has_status "$id" failed
		same 2 "$(p events "$id" --type claimed --json | wc -l)"
		same 2 "$(p logs "$id")"
		p verify
	done
}

@test "pawl exec does not adopt the jobs of a dead worker" {
	submit_tasks 3
	start_worker
	until_true have_begun 3
	kill -9 "$worker"
	wait_for "$worker"
	p exec -- true
	same 0 "$(events_of_type adopted)"
	open_gate
	p worker --drain 2>"$dir/stderr"
	until_true all_ended 4
	same 3 "$(events_of_type adopted)"
	p verify --host
}
