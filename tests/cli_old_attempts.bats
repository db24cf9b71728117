#!/usr/bin/env bats
# After a fence: workers that start on a state folder with many attempts of the earlier generation.

load cli_common
load cli_run

# Leaves the folder of an attempt that has ended but was not settled, $folder, and an attempt that runs.
leave_attempts() {
	start_worker --slots 2
	stays=$(p exec --detach -- sh -c ": $mark; until [ -e $dir/go ]; do sleep 0.1; done")
	runs=$(p exec --detach -- sh -c "echo \$\$ >$dir/pid; : $mark; exec sleep 1000")
	until_true has_event "$runs" started
	until_true has_event "$stays" started
	kill -9 "$worker"
	wait_for "$worker"
	touch "$dir/go"
	folder=$(find "$dir/state" -name "$stays.1")
	until_true test -e "$folder/exit"
}

# Copies $folder to 800 others, with one process for each file.
copy_folder() {
	local to=("$(dirname "$folder")"/500{100..899}.1) file
	mkdir -m 700 "${to[@]}"
	for file in exit lease lock output shim tree; do tee "${to[@]/%//$file}" <"$folder/$file" >/dev/null; done
}
count_folders() { ls "$(dirname "$folder")" | grep -c '^500'; }
gone() { ! kill -0 "$(cat "$dir/pid")" 2>/dev/null; }
all_removed() { [ "$(count_folders)" = 0 ]; }

start_together() { # number
	workers=() logs=()
	for _ in $(seq "$1"); do
		logs+=("$dir/together.${#started[@]}")
		pawl --db "$db" --tenant "$tenant" worker --slots 1 >/dev/null 2>"${logs[-1]}" 3>&- &
		workers+=($!)
		started+=($!)
	done
}
all_ready() { [ "$(cat "${logs[@]}" | grep -c 'is ready')" = ${#logs[@]} ]; }

@test "workers that start together after a fence end old attempts and claim jobs at once, and one of them removes the attempt folders" {
	leave_attempts
	copy_folder
	p admin fence --yes >/dev/null
	start_together 3
	until_true all_ready
	until_true gone
	p exec -- true
	until_true all_removed
	until_true grep -q 'attempt folders of an earlier generation: 80. removed' "${logs[@]}"
	[ "$(cat "${logs[@]}" | grep -c 'finished removing')" = 1 ]
	kill "${workers[@]}"
	for pid in "${workers[@]}"; do
		wait_for "$pid"
		[ "$status" = 0 ]
	done
	p verify
	p verify --host
}

@test "worker that ends old attempts stops at once on SIGTERM, and the next worker continues" {
	leave_attempts
	copy_folder
	p admin fence --yes >/dev/null
	shim=$(ps -o ppid= -p "$(cat "$dir/pid")")
	kill -STOP $shim # a stopped shim does not react to the worker, which kills it after some seconds
	start_together 1
	until_true grep -q 'ending 1 running attempt of an earlier generation' "${logs[@]}"
	kill "${workers[0]}"
	wait_for "${workers[0]}"
	[ "$status" = 0 ]
	[ "$(grep -c 'is ready' "${logs[@]}")" = 0 ]
	[ "$(count_folders)" = 800 ]
	kill -CONT $shim
	start_together 2
	until_true all_removed
	until_true gone
	p verify
}
