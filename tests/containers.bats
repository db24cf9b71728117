#!/usr/bin/env bats
# Commands in real containers, with podman if it exists, else docker. `make test-containers` installs podman, and fails
# where this file would skip. The image is made from this machine's busybox: nothing is fetched. TEST_LONG

load cli_common
load cli_run
load containers_common

# With runc and cgroupfs, podman also works on hosts with both cgroup versions, and with fewer privileges.
configure_podman() {
	cat >"$BATS_FILE_TMPDIR/containers.conf" <<-'END'
		[containers]
		default_ulimits = ["nofile=20000:20000", "nproc=32768:32768"]
		[engine]
		runtime = "runc"
		cgroup_manager = "cgroupfs"
		events_logger = "file"
	END
	export CONTAINERS_CONF=$BATS_FILE_TMPDIR/containers.conf
	# Each test has its own configuration folder, but all share the images.
	local storage=${XDG_CONFIG_HOME:-$HOME/.config}/containers/storage.conf
	[ ! -e "$storage" ] || export CONTAINERS_STORAGE_CONF=$storage
}

setup_file() {
	engine=$(command -v podman || command -v docker || true)
	export engine why= image=pawl-test-$$-$RANDOM:1
	[[ $engine != *podman ]] || configure_podman
	if [ -z "$engine" ]; then
		why='neither podman nor docker is installed'
	elif ! command -v busybox >/dev/null; then
		why='there is no busybox to make an image of'
	elif ! make_image >"$BATS_FILE_TMPDIR/output" 2>&1 ||
		! "$engine" run --rm --network none "$image" /bin/true >"$BATS_FILE_TMPDIR/output" 2>&1; then
		why="$engine runs nothing here: $(tail -n 1 "$BATS_FILE_TMPDIR/output")"
	fi
}

teardown_file() {
	[ -n "$why" ] || "$engine" rmi --force "$image" >/dev/null 2>&1
}

@test "command runs in a container with its folder, variables and outputs" {
	printf '#!/bin/sh\necho "from $PWD as $(id -u): $WORD"\n' >"$dir/check.sh"
	chmod +x "$dir/check.sh"
	workflow '  check: {container: "'"$image"'", run: ./check.sh, env: {WORD: "two words"}}
  count: {container: {}, run: "echo n=7 >>$PAWL_OUTPUT", user: "1234"}
  show: {needs: count, run: "echo got $N", env: {N: "${{ tasks.count.outputs.n }}"}}'
	run p run "$dir/w.flow.yaml" --progress plain
	echo "$output"
	[ "$status" = 0 ]
	[ "$(p logs "$(id_of check)")" = "from $dir as 0: two words" ]
	[ "$(p logs "$(id_of show)")" = 'got 7' ]
	p verify
}

@test "container sees neither the host's files nor its network unless configured" {
	echo hidden >"$dir/secret"
	echo shown >"$dir/shown"
	run p exec --executor container -- /bin/sh -c "ls $dir/secret /sys/class/net"
	echo "$output"
	[ "$status" = 2 ] || [ "$status" = 1 ]
	[[ $output == *lo* ]] && [[ $output != *eth0* ]]
	workflow "  see: {container: {volumes: ['$dir/shown:/shown:ro']}, run: 'cat /shown; echo x >/shown'}"
	run p run "$dir/w.flow.yaml" --progress plain
	echo "$output"
	[ "$status" = 1 ]
	[[ $output == *shown* ]]
	p verify
}

@test "exit code, missing program or missing image is reported" {
	run p exec --executor container -- /bin/sh -c 'echo output; exit 3'
	echo "$output"
	[[ $output == *output* ]]
	[ "$(p show 1 --json | jq .exit_code)" = 3 ]
	run p exec --executor container -- /no/such/program
	echo "$output"
	[ "$status" != 0 ]
	workflow '  a: {container: {image: "pawl-no-such-image:1", pull: never}, run: "true"}'
	run p run "$dir/w.flow.yaml" --progress plain
	echo "$output"
	[ "$status" = 1 ]
	[[ $output == *pawl-no-such-image* ]]
	p verify
}

@test "secret reaches the command but neither its arguments nor the log" {
	export TOKEN=hush-hush
	workflow '  a: {container: {}, run: "echo token $TOKEN; exit 1", secrets: [TOKEN]}'
	run p run "$dir/w.flow.yaml" --progress plain
	echo "$output"
	[[ $output == *'token ***'* ]]
	[[ $(p events --json --limit 1000) != *hush* ]]
	p verify
}

@test "cancel or timeout ends the container" {
	start_worker
	id=$(p exec --detach --executor container -- /bin/sleep 1000)
	until_true is_status "$id" running
	until_true one_runs
	p cancel "$id"
	until_true is_status "$id" cancelled
	until_true none_left
	id=$(p exec --detach --executor container --timeout 1s -- /bin/sleep 1000)
	until_true is_status "$id" timed_out
	until_true none_left
	p verify
}

@test "container outlives the kill -9 of its worker and is adopted by the next worker" {
	start_worker
	id=$(p exec --detach --executor container -- /bin/sh -c 'sleep 4; echo done; exit 5')
	until_true one_runs
	before=$(ours)
	kill -9 "$worker"
	start_worker
	until_true is_status "$id" failed
	[ "$(p show "$id" --json | jq .exit_code)" = 5 ]
	[ "$(p show "$id" --json | jq .attempt)" = 1 ]
	[ "$(p logs "$id")" = done ]
	[ -n "$before" ]
	until_true none_left
	p verify
}

# The client is a child of a shim of this test: tests that run at the same time have executions with the same ids.
client_of() {
	local pid
	for pid in $(pgrep -f "${engine##*/} start --attach.* pawl-$1-"); do
		! grep -qsaF "$dir/state" "/proc/$(ps -o ppid= -p "$pid" | tr -d ' ')/environ" || echo "$pid"
	done | grep .
}

client_is_seen_or_over() {
	client_of "$1" >"$dir/client" || is_over "$1"
}

# A client that gets TERM before it has started anything exits with 0. A machine that is busy may miss a client that lives
# for half a second only: then another one is started.
@test "TERM sent to the container engine's client never turns an unfinished command into a success" {
	start_worker
	for pause in 0.02 0.05 0.08 0.12 0.2 0.4; do
		for _ in {1..20}; do
			id=$(p exec --detach --executor container -- /bin/sh -c 'sleep 0.5; echo done=yes >>$PAWL_OUTPUT')
			until_true client_is_seen_or_over "$id"
			[ ! -s "$dir/client" ] || break
		done
		sleep $pause
		kill "$(tail -n 1 "$dir/client")" || true
		until_true is_over "$id"
		p show "$id" --json | jq -c '[.status, .exit_code, .error]'
		[ "$(status_of "$id")" != succeeded ] || [ "$(p show "$id" --json | jq -r .result.done)" = yes ]
		none_left
	done
	p verify
}

@test "kill -9 of client, command or monitor leaves no container, and the command is retried" {
	start_worker
	for whom in client command ${PAWL_TEST_CONTAINERS:+monitor}; do # podman notices the end of the monitor after 20 s
		id=$(p exec --detach --executor container --retry 1 -- /bin/sh -c 'sleep 0.5; echo $PAWL_ATTEMPT; [ $PAWL_ATTEMPT = 2 ] || sleep 1000')
		until_true one_runs
		first=$(ours)
		case $whom in
		client) kill -9 "$(client_of "$id")" ;;
		command) kill -9 "$("$engine" inspect --format '{{.State.Pid}}' "$first")" ;;
		monitor)
			[[ $engine == *podman ]] || break
			kill -9 "$(pgrep -f "^/.*conmon .*-c $first")"
			;;
		esac
		until_true is_over "$id"
		p events "$id" --json | jq -r 'select(.error? // .data.error?) | .error // .data.error'
		[ "$(status_of "$id")" = succeeded ]
		[ "$(p logs "$id")" = 2 ]
		none_left
	done
	p verify
}

@test "container of a killed worker and shim is resumed with its whole log" {
	check_resume start_worker
}

@test "container that ends while nobody watches is reported with its exit code and outputs" {
	check_end_unwatched
}

@test "timeout and cancel reach a resumed container" {
	check_timeout_and_cancel_after_resume
}

@test "ended container that another container depends on is left behind and blocks nothing" {
	[[ $engine == *podman ]] || skip 'only podman knows who needs whom'
	start_worker
	id=$(p exec --detach --executor container -- /bin/sh -c 'until [ -e /tmp/go ]; do sleep 0.1; done; echo done')
	until_true one_runs
	left=$(ours)
	"$engine" create --name "needs-$left" --network "container:$left" "$image" /bin/true
	"$engine" exec "$left" /bin/sh -c 'echo >/tmp/go'
	until_true is_over "$id"
	[ "$(status_of "$id")" = succeeded ]
	p logs "$id" | tee /dev/stderr | grep -q 'the container has ended, but could not be removed: .*dependent'
	[ "$(ours)" = "$left" ]
	"$engine" rm "needs-$left"
	"$engine" rm "$left"
	p verify
}

@test "container example succeeds" {
	run p run "$BATS_TEST_DIRNAME/../examples/container.flow.yaml" --param image="$image" --progress plain
	echo "$output"
	[ "$status" = 0 ]
	[[ $(p logs "$(p tree 1 --json | jq -r '.. | objects | select(.name? == "container::outside") | .id')") == \
		*'workflow files were seen from inside'* ]]
	p verify
}
