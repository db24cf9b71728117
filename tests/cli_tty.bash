# cli_tty.bash - shared by the terminal tests: pawl runs in a terminal that tmux emulates, and the tests read its
# screen. Load after cli_common and cli_run.

setup() {
	make_database
	make_state
	make_terminal
}
teardown() {
	end_terminal
	end_all
	remove_database
}

make_terminal() {
	tmux="tmux -L $tenant -f /dev/null"
}
end_terminal() {
	$tmux kill-server 2>/dev/null || true
}

# Runs pawl in a terminal of this size. Writes the exit code into a file when pawl has ended, and the terminal settings
# into two files: one before, one after.
start() { # columns rows pawl-argument...
	local size="-x $1 -y $2"
	shift 2
	printf '#!/bin/sh\ntrap : INT # Ctrl-C is for pawl alone\n%s\nstty -g >%q\npawl --db %q --tenant %q %s\ncode=$?\nstty -g >%q\necho $code >%q\nexec sleep 600 # %s\n' \
		"export ${locale:-LC_ALL=C.UTF-8} PATH=$PATH XDG_STATE_HOME=$XDG_STATE_HOME XDG_CONFIG_HOME=$XDG_CONFIG_HOME TERM=${term:-screen-256color} ${env:-};" \
		"$dir/stty.before" "$db" "$tenant" "$*" "$dir/stty.after" "$dir/code" "$mark" >"$dir/start"
	chmod 755 "$dir/start"
	until_true $tmux -u new-session -d $size "$dir/start" # a tmux server that was just killed may still be exiting
}

screen() { $tmux capture-pane -p; }
colored() { $tmux capture-pane -p -e; }
shows() { screen | grep -qF -- "$1"; }
shows_no() { ! shows "$1"; }
keys() { $tmux send-keys "$@"; }
ended() { [ -s "$dir/code" ]; }
code() { cat "$dir/code"; }

# The pid of pawl in the terminal.
pawl_pid() {
	local shell
	shell=$($tmux display -p '#{pane_pid}')
	tr -d ' ' <"/proc/$shell/task/$shell/children"
}

# The terminal is restored: its settings, its primary screen, its cursor.
restored() {
	cmp "$dir/stty.before" "$dir/stty.after"
	[ "$($tmux display -p '#{alternate_on} #{cursor_flag} #{wrap_flag}')" = '0 1 1' ]
}

# A command that waits for a file, so that a test decides when a task ends; up to thirty may wait at once.
wait_for_file() { echo ": $mark; while [ -d $dir ] && [ ! -e $dir/$1 ]; do sleep 0.1; done"; }
