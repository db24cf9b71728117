#!/usr/bin/env bats
# An SQLite file is removed, moved or replaced while `pawl run` or `pawl exec` uses it: they end instead of waiting.

load cli_common
load cli_run

setup() {
	[ "$PAWL_TEST_DB" = sqlite ] || skip 'a server has no file to be removed'
	make_database
	make_state
	file=$dir/here.db
	until_go=": $mark; touch $dir/begun; while [ -d $dir ] && [ ! -e $dir/go ]; do sleep 0.1; done"
	printf 'name: w\ntasks: {a: {run: "%s"}, b: {needs: a, run: "echo end"}}\n' "$until_go" >"$dir/flow.yaml"
}
teardown() {
	[ "$PAWL_TEST_DB" = sqlite ] || return 0
	end_all
	remove_database
}

here() { pawl --db "sqlite:$file" "$@"; }

# Starts pawl in the background and waits until its command runs.
begin() { # word...
	here "$@" >"$dir/out" 2>"$dir/stderr" 3>&- &
	started+=($!)
	until_true test -e "$dir/begun"
}

ends_with_6() { # expected message
	wait_for "${started[0]}"
	[ "$status" = 6 ]
	grep -q "^pawl: the database $file $1" "$dir/stderr"
	grep -q '(running commands continue; workers of this state folder adopt them if the database reappears)' "$dir/stderr"
}

@test "run ends when its database file is moved away, and a worker continues it when the file is back" {
	begin run "$dir/flow.yaml"
	mv "$file" "$dir/moved"
	ends_with_6 "can't be found: No such file or directory; was it moved?"
	mv "$dir/moved" "$file"
	touch "$dir/go"
	here worker --drain
	here ls --json | grep -q '"status":"succeeded"'
	here verify
}

@test "exec ends when its database file is removed" {
	begin exec -- sh -c "$until_go"
	rm "$file" "$file-wal" "$file-shm"
	ends_with_6 "can't be found: No such file or directory; was it moved?"
	[ ! -e "$file" ]
}

@test "run ends when its database file is replaced, and leaves the new file alone" {
	pawl --db "sqlite:$dir/other.db" admin migrate
	begin run "$dir/flow.yaml"
	rm "$file" "$file-wal" "$file-shm"
	mv "$dir/other.db-wal" "$file-wal"
	mv "$dir/other.db" "$file"
	ends_with_6 'was replaced by another file while in use: restart Pawl'
	[ "$(here ls --json)" = '' ]
	here verify
}
