#!/usr/bin/env bats
# Files, folders and names through which another user of the machine could reach this one: state folders, databases,
# secrets files, links, and texts that change what a terminal shows. TEST_NO_DB.

load cli_common

setup() {
	dir=$BATS_TEST_TMPDIR
	mkdir "$dir/home" "$dir/project"
	cd "$dir/project"
	export HOME=$dir/home PAWL_SHIM=$PAWL_TEST_BUILD/pawl-shim PAWL_DB=sqlite:$dir/home/pawl.db
	unset PAWL_TENANT PAWL_STATE PAWL_CONFIG PAWL_TRACE XDG_STATE_HOME XDG_CONFIG_HOME
	bidi=$(printf 'a\342\200\256b')
}

teardown() { [ -z "${reachable:-}" ] || rm -rf "$reachable"; }

root() { [ "$(id -u)" = 0 ] || skip 'only root can give files away'; }

@test "state folder that others can write to is refused" {
	mkdir -m 777 state
	refused 2 "the state folder state is not safe, because others can write to it: other users could make this worker run commands; run chown or chmod go-w on it, or choose another one with --state" \
		pawl exec --state state -- touch ran
	[ ! -e ran ]
	chmod 1777 state # like /tmp
	pawl exec --state state -- touch ran
	[ -e ran ]
	chmod 777 state/*/
	rm ran
	refused 2 'because others can write to it' pawl exec --state state -- touch ran
	[ ! -e ran ]
}

@test "state folder of another user is refused, and reported if root uses it" {
	root
	reachable=$(mktemp -d) # the folders above that of the test are closed to other users
	chmod 755 "$reachable"
	cd "$reachable"
	mkdir state other user
	chown 12345 state other
	chown 23456 user
	pawl exec --state state -- true 2>"$dir/stderr"
	grep -F 'it belongs to another user (uid 12345): that user can make this worker run commands as root' "$dir/stderr"
	chmod 1777 other
	run setpriv --reuid 23456 --regid 23456 --clear-groups \
		pawl exec --db "sqlite:$PWD/user/pawl.db" --state other -- true
	echo "$output"
	[ "$status" = 2 ]
	[[ $output == *'the state folder other is not safe, because it belongs to another user (uid 12345)'* ]]
}

@test "database that others can write to is reported by a worker" {
	pawl exec -- true 2>stderr
	[ ! -s stderr ]
	chmod 666 "$dir/home/pawl.db"
	pawl exec -- true 2>stderr
	grep -F "the database $dir/home/pawl.db can be changed by other users, because others can write to it: they can make this worker run commands" stderr
	pawl ls 2>stderr # a command that only reads runs no jobs
	[ ! -s stderr ]
}

@test "secrets file that is a FIFO or a link fails the task at once" {
	printf 'name: x\ntasks: {a: {run: "true", secrets: [TOKEN]}}\n' >x.yaml
	printf 'executors: {process: {secrets_file: secrets}}\n' >pawl.yaml
	pawl trust
	mkfifo -m 600 secrets
	run timeout 120 pawl run x.yaml
	echo "$output"
	[ "$status" = 1 ]
	[[ $output == *"the secrets file $PWD/secrets can't be read: it is a FIFO"* ]]
	rm secrets
	ln -s /dev/null secrets
	[[ $(timeout 120 pawl run x.yaml 2>&1) == *'it is a symbolic link'* ]]
	rm secrets
	printf 'TOKEN=x\n' >secrets
	chmod 600 secrets
	pawl run x.yaml
}

@test "error in a file that another user linked to shows none of its content" {
	root
	printf 'password: hunter2\n' >private
	chmod 600 private
	ln -s private linked.yaml
	[[ $(pawl validate linked.yaml 2>&1) == *hunter2* ]] # the user's own link
	chown -h 12345 linked.yaml
	run pawl validate linked.yaml
	echo "$output"
	[ "$status" = 2 ]
	[[ $output != *hunter2* && $output != *password* ]]
	[[ $output == *'linked.yaml:1:1: this is not a valid workflow; the error is not shown, because a symbolic link of another user leads to it'* ]]
	printf 'name: w\ntasks: {a: {workflow: private}}\n' >w.yaml
	[[ $(pawl validate w.yaml 2>&1) == *hunter2* ]]
	chown 12345 w.yaml
	run pawl validate w.yaml
	[[ $output != *hunter2* && $output == *'private:1:1: this is not a valid workflow; the error is not shown, because a file of another user names it'* ]]
}

@test "names with control characters or bidirectional formatting characters are refused" {
	local bad
	for bad in "$bidi" $'a\e[31m'; do
		refused 2 'the name contains a control character or a bidirectional formatting character: remove it' \
			pawl exec --name "$bad" -- true
		refused 2 'contains a control character' pawl exec --detach --queue "$bad" -- true
		refused 2 'contains a control character' pawl queue pause "$bad"
	done
	printf 'name: x\nqueue: "a\\u202eb"\ntasks: {a: {run: "true"}}\n' >x.yaml
	run pawl validate x.yaml
	echo "$output"
	[ "$status" = 2 ]
	[[ $output == *'a queue name without control characters'* ]]
}

@test "text written by other users is printed without control characters and bidirectional formatting characters" {
	pawl exec -- true
	sqlite3 "$dir/home/pawl.db" "UPDATE executions SET queue = 'q' || char(27) || '[31m' || char(8238)"
	pawl exec --detach -- true
	sqlite3 "$dir/home/pawl.db" "UPDATE executions SET queue = 'q' || char(27) || '[31m' || char(8238) WHERE finished_at IS NULL"
	for c in metrics queue ls 'show @last' 'tree @last'; do
		pawl $c >out
		! grep -q $'\e\|\342\200\256' out || { echo "$c"; cat -v out; false; }
	done
}
