# cli_run.bash - shared by the tests with real workers: a state folder for each test, functions that start, await and
# end workers, and a check for processes left behind.

# The default setup and teardown.
setup() {
	make_database
	make_state
}
teardown() {
	end_all
	remove_database
}

# Call after make_database.
make_state() {
	export XDG_STATE_HOME=$dir/state XDG_CONFIG_HOME=$dir/config
	unset PAWL_EXECUTION_ID PAWL_TENANT PAWL_CONFIG PAWL_STATE
	mark=pawl-mark-$$-$RANDOM$RANDOM # in the command line of every process that the test starts
	started=()
	if [ -n "${PAWL_TEST_POLL:-}" ]; then
		mkdir -p "$XDG_CONFIG_HOME/pawl"
		printf 'dispatch: {mode: poll}\n' >"$XDG_CONFIG_HOME/pawl/pawl.yaml"
	fi
}

# Ends all workers, then every process that carries the mark: a failed test must not leave any behind either.
end_all() {
	local pid
	for pid in "${started[@]}"; do
		kill -CONT "$pid" 2>/dev/null || true
		kill -9 "$pid" 2>/dev/null || true
	done
	[ -z "${mark:-}" ] || for pid in $(marked); do
		kill -9 "$pid" 2>/dev/null || true
	done
}

# The processes whose command line or environment carries the mark, except the one that searches.
marked() {
	printf '%s\n' "$mark" >"$dir/mark"
	grep -lazF -f "$dir/mark" /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3 | sort -un
}

# Waits for a condition, for a generous time. The pause between checks grows, because each check starts a program that
# takes processor time from the processes waited for.
until_true() { # command...
	local pause=0.02 until=$((SECONDS + 90))
	until "$@"; do
		if [ $SECONDS -ge $until ]; then
			echo "never came: $*"
			return 1
		fi
		sleep $pause
		case $pause in
		0.02) pause=0.05 ;;
		0.05) pause=0.1 ;;
		*) pause=0.2 ;;
		esac
	done
}

# Milliseconds between two times.
between() { echo $(($(date -d "$2" +%s%3N) - $(date -d "$1" +%s%3N))); } # from to

# Starts a worker in the background and returns when it is ready: $worker is its pid, $worker_id its id.
start_worker() { # option...
	local log=$dir/worker.${#started[@]}
	pawl --db "$db" --tenant "$tenant" worker "$@" >"$log.out" 2>"$log" 3>&- &
	worker=$!
	started+=("$worker")
	until_true grep -q 'is ready' "$log"
	worker_id=$(sed -n 's/^pawl: worker \([0-9a-f]*\) is ready.*/\1/p' "$log")
	worker_log=$log
}

# Waits for a process to end; $status is its exit code.
wait_for() { # pid
	status=0
	wait "$1" 2>/dev/null || status=$?
}

# The process has no pending signal.
signal_taken() { ! grep -q '^ShdPnd:.*[1-9a-f]' "/proc/$1/status"; } # pid

status_of() { p show "$1" --json | sed 's/.*"status":"\([a-z_]*\)".*/\1/'; }
has_status() { [ "$(status_of "$1")" = "$2" ]; }
has_event() { p events "$1" | grep -q "task.$2 "; } # execution, type
count_status() { p events --type "$1" --json | wc -l; }
