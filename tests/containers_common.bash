# containers_common.bash - shared by the tests with real container engines. setup_file sets $engine, the path of the
# engine's client, $image, and $why: why no test can run here, "" if all can.

make_image() {
	local root=$BATS_FILE_TMPDIR/root applet
	mkdir -p "$root/bin" "$root/tmp"
	cp "$(command -v busybox)" "$root/bin/busybox"
	for applet in sh echo sleep cat ls true env id wc; do
		ln -s busybox "$root/bin/$applet"
	done
	tar -C "$root" -cf - . | "$engine" import - "$image"
}

setup() {
	if [ -n "$why" ]; then
		[ -z "${PAWL_TEST_CONTAINERS:-}" ] || [ -n "${may_skip:-}" ] || {
			echo "$why"
			return 1
		}
		skip "$why"
	fi
	make_database
	make_state
	cat >"$dir/pawl.yaml" <<-END
		worker: {lease: 2s, host_grace: 30s}
		executors: {container: {engine: ${engine##*/}, image: "$image", pull: never, grace: 1s}}
	END
	export PAWL_CONFIG=$dir/pawl.yaml
}

teardown() {
	[ -z "$why" ] || return 0
	end_all
	[ -n "${BATS_TEST_COMPLETED:-}" ] || ours | xargs -r "$engine" rm --force >/dev/null 2>&1 || true
	none_left
	remove_database
}

id_of() { p tree 1 --json | jq -r --arg name "w::$1" '.. | objects | select(.name? == $name) | .id'; }
# The containers of this test, by the folder in their labels; other tests may run at the same time.
list() { "$engine" ps "$@" --filter label=pawl.folder --format '{{.ID}} {{.Labels}}' | grep -F "$(realpath "$dir")/" | cut -d ' ' -f 1; }
ours() { list --all; }
none_left() { [ -z "$(ours)" ]; }

workflow() { # YAML of its tasks
	printf 'name: w\ntasks:\n%s\n' "$1" >"$dir/w.flow.yaml"
}

one_runs() { [ "$(list | wc -l)" = 1 ]; }
is_status() { [ "$(p show "$1" --json | jq -r .status)" = "$2" ]; }
is_over() { [[ $(p show "$1" --json | jq -r .status) =~ ^(succeeded|failed|cancelled|timed_out)$ ]]; }

# Including the helper that forks the shims.
kill_shims() {
	local pid
	for pid in $(pgrep pawl-shim); do
		! grep -qsaF "$dir/state" "/proc/$pid/environ" || kill -9 "$pid"
	done
}

# ---- containers whose worker and shim die, as when a worker that runs in a container is replaced ----

lose_worker_and_shims() {
	kill -9 "$worker"
	wait_for "$worker"
	kill_shims
}

let_go() { "$engine" exec "$1" /bin/sh -c "echo >/tmp/$2"; } # container file
has_log() { [[ $(p logs "$1") == "$2"* ]]; }
is_resumed() { grep -q 'another shim watches it' "$worker_log"; }
has_no_process() { [ "$("$engine" inspect --format '{{.State.Status}}' "$1")" = exited ]; }

check_resume() { # command that starts a worker
	local id first
	"$1"
	id=$(p exec --detach --executor container -- /bin/sh -c 'echo one
		until [ -e /tmp/a ]; do sleep 0.1; done; echo two
		until [ -e /tmp/b ]; do sleep 0.1; done; echo three; printf four; exit 5')
	until_true one_runs
	until_true has_log "$id" one
	first=$(ours)
	lose_worker_and_shims
	let_go "$first" a # nobody watches
	"$1"
	until_true is_resumed
	until_true has_log "$id" $'one\ntwo'
	[ "$(ours)" = "$first" ]
	let_go "$first" b
	until_true is_over "$id"
	[ "$(p show "$id" --json | jq -c '[.status, .exit_code, .attempt]')" = '["failed",5,1]' ]
	[ "$(p logs "$id")" = $'one\ntwo\nthree\nfour' ]
	until_true none_left
	p verify
}

check_end_unwatched() {
	local id first
	start_worker
	id=$(p exec --detach --executor container -- /bin/sh -c \
		'until [ -e /tmp/a ]; do sleep 0.1; done; echo done; echo n=7 >>$PAWL_OUTPUT')
	until_true one_runs
	first=$(ours)
	lose_worker_and_shims
	let_go "$first" a
	until_true has_no_process "$first"
	start_worker
	until_true is_status "$id" succeeded
	[ "$(p show "$id" --json | jq -c '[.attempt, .exit_code, .result.n]')" = '[1,0,"7"]' ]
	[ "$(p logs "$id")" = done ]
	until_true none_left
	p verify
}

check_timeout_and_cancel_after_resume() {
	local id
	start_worker
	id=$(p exec --detach --executor container --timeout 8s -- /bin/sh -c 'while :; do sleep 0.1; done')
	until_true one_runs
	lose_worker_and_shims
	start_worker
	until_true is_status "$id" timed_out
	until_true none_left
	id=$(p exec --detach --executor container -- /bin/sh -c 'trap "echo bye; exit 0" TERM; echo on; while :; do sleep 0.1; done')
	until_true one_runs
	until_true has_log "$id" on
	lose_worker_and_shims
	start_worker
	until_true is_resumed
	p cancel "$id"
	until_true is_status "$id" cancelled
	[ "$(p logs "$id")" = $'on\nbye' ]
	until_true none_left
	p verify
}
