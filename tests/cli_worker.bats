#!/usr/bin/env bats
# pawl worker: it reports that it is ready, runs queued jobs, is idle when there are none, and stops on a signal.
# TEST_POLL_TOO

load cli_common
load cli_run

later() { p exec --detach "$@"; } # option... -- command...

@test "worker prints one line when it is ready, with its queues and slots but without a password" {
	start_worker --queue mail --queue reports --slots 3
	[[ $(cat "$worker_log") =~ ^pawl:\ worker\ [0-9a-f]{16}\ is\ ready:\ [^\ ]+,\ queues\ mail,\ reports,\ 3\ slots$ ]]
	[[ $(p workers --json) == *"\"id\":\"$worker_id\""*"\"pid\":$worker,"* ]]
	[[ $(p workers --json) == *'"process":["mail","reports"]'* ]]
	kill -TERM "$worker"
	wait_for "$worker"
	[ "$status" = 0 ]
	same '' "$(p workers --json)"
	if [ "$PAWL_TEST_DB" = postgres ]; then
		db=${db/postgres@/postgres:geheim@}
		start_worker
		without geheim <"$worker_log"
	fi
}

# Milliseconds between two times of an execution, by the database's clock.
ms_between() { # from to execution
	local json
	json=$(p show "$3" --json)
	echo $(($(date -d "$(jq -r ".$2_at" <<<"$json")" +%s%3N) - $(date -d "$(jq -r ".$1_at" <<<"$json")" +%s%3N)))
}

@test "worker with --drain runs only the jobs of its queues and exits" {
	for i in $(seq 20); do
		later -- sh -c "echo $i >>'$dir/ledger'" >/dev/null
	done
	other=$(later --queue elsewhere -- true)
	failing=$(later --retry 2 -- sh -c 'exit $((PAWL_ATTEMPT < 3))')
	slow=$(later --delay 300ms -- sh -c "echo slow >>'$dir/ledger'")
	p worker --drain --slots 4 2>"$dir/stderr"
	[ "$(wc -l <"$dir/stderr")" = 1 ]
	same "$(seq 20)" "$(grep -v slow "$dir/ledger" | sort -n)"
	same slow "$(grep slow "$dir/ledger")"
	[ "$(ms_between requested started "$slow")" -ge 300 ]
	has_status "$other" ready
	has_status "$failing" succeeded
	has_status "$slow" succeeded
	p verify
}

# Starts a command that runs until the file go exists, on the worker that is started.
start_waiting_command() {
	command=$(later -- sh -c ": $mark; echo begun >>'$dir/begun'; while [ ! -e '$dir/go' ]; do sleep 0.05; done")
	until_true has_status "$command" running
	until_true test -e "$dir/begun"
}

@test "pawl drain lets a worker finish its command, claim nothing more and exit with 0" {
	start_worker
	start_waiting_command
	same "worker $worker_id: asked to drain; it holds 1 job" "$(p drain "$worker_id" --reason 'new disk')"
	until_true grep -q 'claiming no more jobs' "$worker_log"
	grep -qE '^pawl: [^ ]+@[^ ]+ has asked this worker to drain: new disk: claiming no more' "$worker_log"
	other=$(later -- true)
	[[ $(p workers) == *draining* ]]
	[[ $(p drain "$worker_id" --json) == *"\"state\":\"draining\",\"drain\":{\"since\":"*'"reason":null}}' ]]
	[[ $(p why "$other") == *'(the only one drains); start one: `pawl worker`' ]]
	has_status "$command" running
	kill -0 "$worker"
	touch "$dir/go"
	wait_for "$worker"
	[ "$status" = 0 ]
	has_status "$command" succeeded
	has_status "$other" ready
	same '' "$(p workers --json)"
	p verify --host --state "$state"
	run p drain "$worker_id"
	[ "$status" = 5 ]
	[[ $output == *"there is no worker $worker_id"* ]]
	run p drain 17
	[ "$status" = 2 ]
}

@test "worker killed while it drains loses nothing" {
	start_worker
	start_waiting_command
	p drain "$worker_id"
	until_true grep -q 'claiming no more jobs' "$worker_log"
	kill -KILL "$worker"
	wait "$worker" || true
	start_worker
	touch "$dir/go"
	until_true has_status "$command" succeeded
	same begun "$(cat "$dir/begun")"
	p verify
}

@test "drain waits for a job that another worker runs, but not for a paused job" {
	first=$(later -- sh -c ": $mark; while [ ! -e '$dir/go' ]; do sleep 0.05; done; exit 1")
	start_worker
	until_true has_status "$first" running
	p worker --drain --state "$dir/other" 2>"$dir/stderr" 3>&- &
	started+=($!)
	until_true grep -q 'is ready' "$dir/stderr"
	kill -0 "${started[1]}"
	touch "$dir/go"
	wait_for "${started[1]}"
	[ "$status" = 0 ]
	has_status "$first" failed
	kill -TERM "$worker"
	wait_for "$worker"
	p queue pause default
	later -- true
	p worker --drain 2>"$dir/stderr"
	p verify
}

three_run_at_once() {
	local i id
	for i in 1 2 3; do
		id=$(later -- true)
		until_true has_status "$id" succeeded || return
		[[ $(p show "$id" --json) =~ \"requested_at\":\"([^\"]*)\".*\"started_at\":\"([^\"]*)\" ]] || return
		[ "$(between "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}")" -lt 1000 ] || return
	done
}

@test "job submitted to an idle worker starts immediately" {
	start_worker
	until_true three_run_at_once # the machine may stall; a job found only by polling would mostly wait for seconds
}

# Processor time of the worker and all its threads, in ticks of 10 ms.
ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }

@test "idle worker uses no processor time" {
	start_worker
	id=$(later -- true)
	until_true has_status "$id" succeeded
	before=$(ticks "$worker")
	sleep 3 # the measured time
	echo "ticks in 3 s: $(($(ticks "$worker") - before))"
	[ $(($(ticks "$worker") - before)) -le 3 ]
}

@test "cancel ends a running command" {
	start_worker
	id=$(later -- sh -c ": $mark; sleep 100")
	until_true has_event "$id" started
	p cancel "$id"
	until_true has_status "$id" cancelled
	until_true eval '[ -z "$(marked)" ]'
	p verify
}

@test "worker stopped by a signal leaves its commands running without using an attempt" {
	start_worker
	id=$(later -- sh -c ": $mark; echo \$PAWL_ATTEMPT >>'$dir/ledger'; while [ ! -e '$dir/go' ]; do sleep 0.05; done; exit 3")
	until_true [ -s "$dir/ledger" ]
	kill -TERM "$worker"
	wait_for "$worker"
	[ "$status" = 0 ]
	has_status "$id" running
	touch "$dir/go"
	p worker --drain 2>"$dir/stderr"
	has_status "$id" failed
	same 1 "$(cat "$dir/ledger")"
	[[ $(p show "$id" --json) == *'"attempt":1,"max_attempts":1,'*'"exit_code":3,'* ]]
	p verify
}

@test "worker with closed standard streams opens /dev/null in their place" {
	id=$(later -- sh -c ": $mark; touch '$dir/begun'; while [ ! -e '$dir/go' ]; do sleep 0.05; done")
	pawl --db "$db" --tenant "$tenant" worker --drain <&- >&- 2>&- 3>&- &
	worker=$!
	started+=("$worker")
	until_true [ -e "$dir/begun" ]
	for fd in 0 1 2; do
		same /dev/null "$(readlink /proc/"$worker"/fd/$fd)"
	done
	touch "$dir/go"
	wait_for "$worker"
	[ "$status" = 0 ]
	has_status "$id" succeeded
	p verify
}

# A plugin with a function that ends when a file exists, and one that ends only when it is cancelled.
make_plugin() {
	cat >"$dir/naps.c" <<-'END'
		#include <pawl.h>
		#include <time.h>
		#include <unistd.h>
		const int pawl_plugin_abi = PAWL_PLUGIN_ABI;
		static int nap(struct pawl_call *c, void *file)
		{
			while (access(file, F_OK) && !c->ops->cancelled(c))
				nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
			return c->ops->cancelled(c);
		}
		int pawl_plugin_init(const struct pawl_plugin_host *host)
		{
			return host->add(host, "patient", nap, GO) || host->add(host, "stubborn", nap, "/nowhere");
		}
	END
	cc -shared -fPIC -I"$BATS_TEST_DIRNAME/../include" -DGO="\"$dir/go\"" -o "$dir/naps.so" "$dir/naps.c"
}

@test "worker asked to stop waits for its functions" {
	make_plugin
	start_worker --plugin "$dir/naps.so"
	[[ $(p workers --json) == *'"function:patient":["default"]'* ]]
	id=$(later --executor function:patient -- x)
	until_true has_event "$id" started
	kill -TERM "$worker"
	until_true signal_taken "$worker"
	other=$(later -- true)
	has_status "$other" ready
	kill -0 "$worker"
	touch "$dir/go"
	wait_for "$worker"
	[ "$status" = 0 ]
	grep -q 'SIGTERM: claiming no more jobs, stopping' "$worker_log"
	has_status "$id" succeeded
	has_status "$other" ready # the worker claimed nothing more
	p verify
}

@test "second signal to a worker cancels its functions" {
	make_plugin
	start_worker --plugin "$dir/naps.so"
	id=$(later --retry 1 --executor function:stubborn -- x)
	until_true has_event "$id" started
	kill -TERM "$worker"
	until_true signal_taken "$worker" # two signals at once would count as one
	kill -TERM "$worker"
	wait_for "$worker"
	[ "$status" = 0 ]
	grep -q 'asking running functions to stop' "$worker_log"
	has_event "$id" deferred
	has_status "$id" ready
	p verify
}

@test "invalid worker options are refused with the right exit code" {
	refused 2 "pawl worker does not take 'now'" p worker now
	refused 2 '--slots must be a number from 1 to 10000' p worker --slots 100000
	refused 2 '--slots must be a number from 1 to 10000' p worker --slots 0
	refused 2 'nowhere.so' p worker --plugin "$dir/nowhere.so"
	refused 5 'there is no tenant' pawl worker --db "sqlite:$dir/no.db" --tenant nobody
	refused 5 'pawl.yaml' p worker --config "$dir/pawl.yaml"
	printf 'worker: {slots: many}\n' >"$dir/bad.yaml"
	run p worker --config "$dir/bad.yaml"
	same 2 "$status"
	[[ $output == *"bad.yaml:1:17: worker.slots: "*"'many'"$'\n'*'{slots: many}'* ]]
}

ends_before_10_s() {
	local deaf began
	deaf=$(later -- sh -c ": $mark; trap '' TERM; echo ready; while :; do sleep 0.05; done")
	until_true eval "p logs $deaf | grep -q ready" || return
	began=$(date +%s%N)
	p cancel "$deaf" || return
	until_true has_status "$deaf" cancelled || return
	(($(date +%s%N) - began < 8000000000))
}

@test "command that ignores TERM is killed after its executor's grace" {
	printf 'executors: {process: {grace: 200ms}}\n' >"$dir/pawl.yaml"
	start_worker --config "$dir/pawl.yaml"
	until_true ends_before_10_s # the machine may stall; with the default grace no command would end in time
}

@test "logs --follow continues after the output exceeds the size that is kept" {
	printf 'logs: {keep: 4kB}\n' >"$dir/pawl.yaml"
	start_worker --config "$dir/pawl.yaml"
	id=$(later -- sh -c "seq 3000; for i in 1 2 3; do echo mark-\$i; while [ ! -e '$dir/go'\$i ]; do sleep 0.05; done; done")
	p logs --follow "$id" >"$dir/followed" 3>&- &
	started+=($!)
	for i in 1 2 3; do
		until_true grep -q "mark-$i" "$dir/followed"
		touch "$dir/go$i"
	done
	wait_for "${started[1]}"
	same 1 "$(grep -c mark-2 "$dir/followed")"
	[[ $(p logs "$id" | tail -n 3) == $'mark-1\nmark-2\nmark-3' ]]
}

@test "verify --host compares the state folder of this host with the database" {
	first=$(later -- sh -c ": $mark; while [ ! -e '$dir/go' ]; do sleep 0.05; done")
	start_worker
	until_true has_event "$first" started
	[[ $(p verify --host) =~ ^verify:\ [0-9]+\ invariants\ hold\ .*,\ 1\ attempts\ and\ 1\ workers\ on\ this\ host$ ]]
	[[ $(p verify --host --json) == *',"attempts":1,"workers":1}' ]]
	[[ $(p verify --json) != *attempts* ]]
	attempts=$(echo "$XDG_STATE_HOME"/pawl/*.1)
	mkdir "$attempts/77777.2"
	run p verify --host
	[ "$status" = 1 ]
	same "H01 execution 77777: attempt 2 has a folder, but the execution is not in the database" "${lines[0]}"
	[[ ${lines[1]} == 'verify: 1 violation of '*' and 1 workers on this host' ]]
	same '{"invariant":"H01","execution":77777,"detail":"attempt 2 has a folder, but the execution is not in the database"}' \
		"$(p verify --host --json | head -n 1)"
	p verify --host --state "$dir/elsewhere" # where nothing ever ran
	[ ! -e "$dir/elsewhere" ]
	rmdir "$attempts/77777.2"
	touch "$dir/go"
	until_true has_status "$first" succeeded
	p verify --host
}

@test "several loops share the jobs on a database that allows several writers" {
	refused 2 '--loops must be a number from 1 to 64' p worker --loops 65
	for i in $(seq 12); do
		later -- sh -c "echo $i >>'$dir/ledger'" >/dev/null
	done
	if [ "$PAWL_TEST_DB" = sqlite ]; then
		refused 2 'one writer at a time' p worker --loops 2 --drain
		p worker --loops 1 --drain
	else
		p worker --loops 3 --drain --slots 4
	fi
	same "$(seq 12)" "$(sort -n "$dir/ledger")"
	p verify --host
}

# Makes ended executions look as if they had ended this many days ago.
age() { # execution days
	case $PAWL_TEST_DB in
	sqlite) sql "UPDATE executions SET requested_at = requested_at - $2 * 86400000000, finished_at = finished_at - $2 * 86400000000 WHERE id = $1" ;;
	postgres) sql "UPDATE executions SET requested_at = requested_at - interval '$2 days', finished_at = finished_at - interval '$2 days' WHERE id = $1" ;;
	esac
}

@test "worker whose configuration file has a shorter retention follows that of the database" {
	printf 'execution_events: {retention_days: 3650}\n' >"$dir/long.yaml"
	printf 'execution_events: {retention_days: 1}\n' >"$dir/short.yaml"
	first=$(later -- true)
	second=$(later -- true)
	p worker --drain --config "$dir/long.yaml"
	age "$first" 4000
	age "$second" 100
	sql "UPDATE settings SET value = '0' WHERE name = 'retained_at'"
	start_worker --config "$dir/short.yaml"
	is_removed() { ! p show "$1" >/dev/null 2>&1; }
	until_true is_removed "$first"
	has_status "$second" succeeded
	[ "$(grep -c 'short.yaml: .* differ from the database' "$worker_log")" = 1 ]
	[[ $(p admin retention) == 'executions  3650 days'* ]]
	[[ $(p admin retention --json) == *'"reason":"the initial value, from '* ]]
}
