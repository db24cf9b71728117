#!/usr/bin/env bats
# pawl top: as text in a pipe, and in a real terminal that tmux emulates, at 80 and 40 columns, resized while it runs,
# and ended by a key and by signals. TEST_LONG

load cli_common
load cli_run
load cli_tty

# A worker with two commands that run until the test lets them end, and two queued commands.
make_work() {
	start_worker --slots 2
	first=$(p exec --detach --retry 2 --name reading -- sh -c "printf 'one\n\033[31mpage 7\033[0m\n'; $(wait_for_file go)")
	until_true has_event "$first" started
	p exec --detach --name writing -- sh -c "$(wait_for_file go)" >"$dir/second"
	until_true has_event "$(cat "$dir/second")" started
	p exec --detach --name third -- true >/dev/null
	p exec --detach --name fourth -- true >/dev/null
}

@test "top in a pipe or with --once prints one frame of text" {
	same "T 0 ready 0 running 0 workers DB
QUEUE READY HELD RUNNING LIMIT OLDEST DONE/M FAILED/M
WORKER HOST HOLDS SEEN STATE EXECUTORS
RUNNING ID TRY ELAPSED WORKER LAST LINE" "$(frame)"
	printf 'executors: {container: {enabled: false}}\n' >"$dir/pawl.yaml" # container engines differ between machines
	export PAWL_CONFIG=$dir/pawl.yaml
	make_work
	p queue pause reports
	same "T 2 ready 2 running 1 worker DB
QUEUE READY HELD RUNNING LIMIT OLDEST DONE/M FAILED/M
default 2 0 2 - D - -
reports 0 0 0 paused - - -
WORKER HOST HOLDS SEEN STATE EXECUTORS
${worker_id:0:8} $(hostname) 2/2 D alive process
RUNNING ID TRY ELAPSED WORKER LAST LINE
exec::reading $first 1/3 D ${worker_id:0:8} page 7
exec::writing $(cat "$dir/second") 1/1 D ${worker_id:0:8}" "$(until_true page_is_shown; frame)"
	p top --once --filter WRIT | without reading
	p top | LC_ALL=C without "$(printf '[\033\r]')"
	[ "$(p top --json | wc -l)" = 1 ]
	[[ $(p top --json --filter writ) == '{"at":"'*'"queues":[{"queue":"default"'*'"workers":[{'*'"running":[{"id":'*'"ended":['* ]]
	touch "$dir/go"
	p verify
}
page_is_shown() { p top | grep -q 'page 7'; }
# Removes the text that differs between runs, and empty lines.
frame() { p top --once | sed -e 's/^[0-9][0-9]:[0-9:]*/T/' -e 's/ [0-9]* held .*/ DB/' | plain | sed -e 's/^ //' -e '/^$/d'; }

@test "top with wrong arguments is refused" {
	refused 2 'at least 100ms' p top --interval 1ms
	refused 2 'duration' p top --interval often
	refused 2 "does not take '1'" p top 1
	refused 6 'there is no database' pawl top --db "sqlite:$dir/none.db"
	refused 6 '127.0.0.1' pawl top --db postgres://postgres@127.0.0.1:1/postgres --once
}

@test "top at 80 columns shows queues, workers and jobs, handles its keys, and restores the terminal" {
	make_work
	start 80 24 top --interval 100ms
	until_true shows 'page 7'
	screen
	shows '2 ready  2 running  1 worker'
	screen | grep -q '^  default  *2  *0  *2 '
	screen | grep -q "^  ${worker_id:0:8} .* 2/2 .*alive"
	screen | grep -q '^> exec::reading .* 1/3 '
	screen | grep -q '^  exec::writing '
	until_true marked_line
	[ "$(screen | wc -l)" = 24 ]
	screen | tail -n 1 | grep -q '^q quit'
	keys j
	until_true shows '> exec::writing'
	keys Up
	until_true shows '> exec::reading'
	keys Enter
	until_true shows "execution $first, exec::reading: running"
	shows 'attempt 1 of 3 has been running since'
	shows '▸ exec::reading'
	shows_no 'QUEUE'
	keys q
	until_true shows 'QUEUE'
	keys f w r i t
	until_true shows_no 'exec::reading'
	shows '> exec::writing'
	keys Escape
	until_true shows 'exec::reading'
	keys p
	until_true shows 'PAUSED'
	before=$(screen | head -n 1)
	touch "$dir/go"
	until_true has_status "$first" succeeded
	[ "$(screen | head -n 1)" = "$before" ]
	keys p
	until_true shows '0 ready  0 running'
	keys '?'
	until_true shows 'enter           why it runs'
	keys q
	until_true shows 'QUEUE'
	keys q
	until_true ended
	[ "$(code)" = 0 ]
	restored
	shows_no QUEUE
}

@test "top at 40 columns and after a resize wraps no line and leaves no stray characters" {
	make_work
	start 40 20 top --interval 100ms
	until_true shows '> exec::reading'
	screen
	shows '2 ready  2 running'
	screen | grep -q '^  default  *2  *2 '
	screen | grep -q "^  ${worker_id:0:8} .*2/2 .*alive"
	[ "$(screen | grep -c 'exec::')" = 2 ]
	$tmux resize-window -x 80 -y 30
	until_true shows 'FAILED/M'
	[ "$(screen | grep -c 'exec::')" = 2 ]
	$tmux resize-window -x 40 -y 8
	until_true shows_no 'FAILED/M'
	until_true shows '> exec::reading'
	screen
	[ "$(screen | grep -c 'RUNNING ')" = 1 ]
	$tmux resize-window -x 30 -y 3
	until_true three_rows
	keys Enter
	$tmux resize-window -x 40 -y 30
	until_true shows 'attempt 1 of 3 has been running since'
	screen
	[ "$(screen | LC_ALL=C.UTF-8 wc -L)" -le 40 ]
	keys q q
	until_true ended
	[ "$(code)" = 0 ]
	restored
}

marked_line() { colored | grep -q "$(printf '\033\\[[0-9;]*7m')"; }

# The heading, one line and the foot.
three_rows() { [ "$(screen | cut -c 1-10 | tr '\n' ' ')" = '  RUNNING  > exec::re q quit  ?  ' ]; }

@test "top can scroll a list longer than the screen" {
	start_worker --slots 40
	for i in $(seq 30); do
		echo "  t$i: {run: '$(wait_for_file go)'}"
	done | { echo 'name: w'; echo 'tasks:'; cat; } >"$dir/flow.yaml"
	p submit "$dir/flow.yaml"
	start 80 20 top --interval 100ms
	until_true shows '30 running'
	shows '> w::t1 '
	shows_no 'w::t30 '
	keys NPage NPage NPage NPage
	until_true shows '> w::t30 '
	shows_no 'w::t1 '
	keys PPage PPage PPage PPage
	until_true shows '> w::t1 '
	keys Enter
	until_true shows '├─ ▸ t3 '
	shows_no 't30 '
	keys NPage NPage NPage NPage
	until_true shows '└─ ▸ t30 '
	touch "$dir/go"
	keys q q
	until_true ended
	restored
}

@test "top ended by a signal restores the terminal" {
	for signal in TERM INT HUP QUIT SEGV ABRT; do
		rm -f "$dir/code" "$dir/stty.after"
		start 80 24 top
		until_true shows QUEUE
		kill "-$signal" "$(pawl_pid)"
		until_true ended
		echo "$signal: $(code)"
		[ "$(code)" = $((128 + $(kill -l $signal))) ] || [ -n "${ASAN_OPTIONS:-}" ]
		restored
		$tmux kill-server
	done
	start 80 24 top
	rm -f "$dir/code"
	until_true shows QUEUE
	keys C-c
	until_true ended
	[ "$(code)" = 130 ]
	restored
}

@test "top stopped by Ctrl-Z restores the terminal until it continues" {
	start 80 24 top --interval 100ms
	until_true shows QUEUE
	pid=$(pawl_pid)
	kill -TSTP "$pid"
	until_true shows_no QUEUE
	until_true grep -q '^State:.*stopped' "/proc/$pid/status"
	[ "$($tmux display -p '#{alternate_on} #{cursor_flag}')" = '0 1' ]
	kill -CONT "$pid"
	until_true shows QUEUE
	keys q
	until_true ended
	[ "$(code)" = 0 ]
	restored
}

rated() { screen | grep -qE '^  default .* [1-9][0-9]* +[1-9][0-9]*$'; }

@test "top shows the rate of ended jobs per minute after ten seconds" {
	mkdir -p "$XDG_CONFIG_HOME/pawl"
	printf 'worker: {heartbeat: 1s}\n' >"$XDG_CONFIG_HOME/pawl/pawl.yaml"
	start_worker
	start 80 24 top --interval 200ms
	until_true shows QUEUE
	p exec --detach -- true
	p exec --detach -- true
	p exec --detach -- false
	until_true rated
	screen
	keys q
	until_true ended
	restored
}

@test "top shows an error of the database and tries again" {
	[ "$PAWL_TEST_DB" = sqlite ] || skip 'PostgreSQL knows a table that it has prepared, whatever its name is'
	start 80 24 top --interval 100ms
	until_true shows QUEUE
	sql 'ALTER TABLE leases RENAME TO hidden'
	until_true shows 'the database '
	shows QUEUE
	sql 'ALTER TABLE hidden RENAME TO leases'
	until_true shows 'q quit'
	keys q
	until_true ended
	[ "$(code)" = 0 ]
	restored
}

@test "top honours NO_COLOR, uses ASCII in an ASCII locale, and prints plain lines on a dumb terminal" {
	make_work
	env=NO_COLOR=1 locale=LC_ALL=C start 80 24 top
	until_true shows '> exec::reading'
	colored | without "$(printf '\033\\[[0-9]')"
	screen | LC_ALL=C without '[^ -~]'
	keys Enter
	until_true shows '> exec::reading'
	screen | LC_ALL=C without '[^ -~]'
	keys q q
	until_true ended
	restored
	$tmux kill-server
	rm "$dir/code"
	term=dumb start 80 24 top
	until_true ended
	screen
	[ "$(code)" = 0 ]
	shows 'exec::reading'
}
