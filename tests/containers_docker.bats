#!/usr/bin/env bats
# Commands in containers of docker: a daemon of its own runs while this file does, where root, the kernel and the
# package docker.io allow it; otherwise each test is skipped, with the reason. TEST_LONG

load cli_common
load cli_run
load containers_common

# Its sockets need short paths.
start_docker() {
	docker_dir=$(mktemp -d /tmp/pawl-docker.XXXXXX)
	export docker_dir DOCKER_HOST=unix://$docker_dir/socket
	unset DOCKER_CONTEXT
	dockerd --host "$DOCKER_HOST" --data-root "$docker_dir/data" --exec-root "$docker_dir/exec" \
		--pidfile "$docker_dir/pid" --storage-driver vfs --bridge none --iptables=false --ip6tables=false \
		>"$docker_dir/log" 2>&1 3>&- &
	export docker_pid=$!
	until_docker_answers
}

until_docker_answers() {
	local until=$((SECONDS + 60))
	until "$engine" version >/dev/null 2>&1; do
		kill -0 "$docker_pid" 2>/dev/null && [ $SECONDS -lt $until ] || return 1
		sleep 0.2
	done
}

setup_file() {
	engine=$(command -v docker || true)
	export engine why= docker_pid= docker_dir= image=pawl-test-$$-$RANDOM:1
	if [ -z "$engine" ] || ! command -v dockerd >/dev/null; then
		why='docker is not installed'
	elif [ "$(id -u)" != 0 ]; then
		why='only root can start a docker daemon'
	elif ! command -v busybox >/dev/null; then
		why='there is no busybox to make an image of'
	elif ! start_docker; then
		why="dockerd does not start here: $(grep -v level=info "$docker_dir/log" | tail -n 1)"
	elif ! make_image >"$BATS_FILE_TMPDIR/output" 2>&1 ||
		! "$engine" run --rm --network none "$image" /bin/true >"$BATS_FILE_TMPDIR/output" 2>&1; then
		why="docker runs nothing here: $(tail -n 1 "$BATS_FILE_TMPDIR/output")"
	fi
}

teardown_file() {
	[ -n "$docker_pid" ] || return 0
	kill "$docker_pid" 2>/dev/null || true
	while kill -0 "$docker_pid" 2>/dev/null; do sleep 0.1; done
	rm -rf "$docker_dir"
}

# A kernel may refuse docker what it allows podman.
may_skip=yes

@test "docker runs a command with its variables, input and outputs" {
	workflow '  count: {container: {}, run: "echo n=$N >>$PAWL_OUTPUT; echo $N; exit 0", env: {N: "7"}}
  show: {needs: count, container: {}, run: "echo got $N; exit 3", env: {N: "${{ tasks.count.outputs.n }}"}}'
	run p run "$dir/w.flow.yaml" --progress plain
	echo "$output"
	[ "$status" = 1 ]
	[ "$(p logs "$(id_of show)")" = 'got 7' ]
	[ "$(p show "$(id_of show)" --json | jq .exit_code)" = 3 ]
	p verify
}

@test "docker container is ended by a cancel and by a timeout" {
	start_worker
	id=$(p exec --detach --executor container -- /bin/sleep 1000)
	until_true one_runs
	p cancel "$id"
	until_true is_status "$id" cancelled
	until_true none_left
	id=$(p exec --detach --executor container --timeout 1s -- /bin/sleep 1000)
	until_true is_status "$id" timed_out
	until_true none_left
	p verify
}

@test "docker container whose worker and shim were killed is adopted and its log is complete" {
	check_resume start_worker
}

@test "docker container that ends while nobody watches is reported with its exit code and outputs" {
	check_end_unwatched
}

@test "timeout and cancel reach a resumed docker container" {
	check_timeout_and_cancel_after_resume
}

# As in a container: the pids of the next worker mean other processes, and the end of the first process ends all.
start_worker_in_own_pid_namespace() {
	local log=$dir/worker.${#started[@]}
	unshare --pid --fork --kill-child --mount-proc pawl --db "$db" --tenant "$tenant" worker >"$log.out" 2>"$log" 3>&- &
	worker=$!
	started+=("$worker")
	until_true grep -q 'is ready' "$log"
	worker_log=$log
}

@test "docker container is resumed by a worker in another pid namespace" {
	unshare --pid --fork --mount-proc true || skip 'this kernel allows no pid namespaces'
	check_resume start_worker_in_own_pid_namespace
}
