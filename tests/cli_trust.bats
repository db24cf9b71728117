#!/usr/bin/env bats
# `pawl trust`, and what a pawl.yaml that nobody trusts can do to a user who calls Pawl in its folder. TEST_NO_DB.

load cli_common

setup() {
	dir=$BATS_TEST_TMPDIR
	mkdir "$dir/home" "$dir/project"
	cd "$dir/project"
	export HOME=$dir/home PAWL_SHIM=$PAWL_TEST_BUILD/pawl-shim
	unset PAWL_DB PAWL_TENANT PAWL_STATE PAWL_CONFIG PAWL_TRACE XDG_STATE_HOME XDG_CONFIG_HOME
	printf '#!/bin/sh\ntouch %q\n' "$dir/stolen" >shim
	chmod +x shim
	printf 'name: x\ntasks: {a: {run: "true"}}\n' >x.yaml
}

@test "program named by an untrusted pawl.yaml is not run by any command" {
	printf 'executors: {process: {shim: ./shim}}\n' >pawl.yaml
	for c in 'exec -- true' 'worker --drain' ls 'admin migrate' 'bench --span 1ms' 'run x.yaml'; do
		status=0
		pawl $c >"$dir/stdout" 2>"$dir/stderr" </dev/null || status=$?
		cat "$dir/stderr"
		[ "$status" = 2 ]
	done
	[[ $(pawl exec -- true 2>&1) == *'pawl.yaml:1:23: executors.process.shim decides what runs here, and you have not said that you trust this file: read it, then run `pawl trust`'* ]]
	pawl complete -- show ''
	[ ! -e "$dir/stolen" ]

	same "$PWD/pawl.yaml is trusted until it changes" "$(pawl trust)"
	# Now the file is trusted. Its program is not a shim and starts no command, so exec would retry forever.
	pawl exec -- true >"$dir/stdout" 2>&1 3>&- &
	until [ -e "$dir/stolen" ]; do sleep 0.1; done
	kill -9 $!
}

@test "trust ends when pawl.yaml changes and after pawl trust --remove" {
	printf 'db: sqlite:a.db\n' >pawl.yaml
	pawl trust
	pawl exec -- true
	[ -e a.db ]
	printf 'db: sqlite:b.db\n' >pawl.yaml
	[[ $(pawl exec -- true 2>&1) == *'this file has changed since you trusted it: read it, then run `pawl trust` again'* ]]
	[ ! -e b.db ]
	pawl trust ./pawl.yaml
	pawl exec -- true
	[ -e b.db ]
	same "$PWD/pawl.yaml is no longer trusted" "$(pawl trust --remove)"
	refused 5 "$PWD/pawl.yaml was not trusted" pawl trust --remove
	refused 5 "none.yaml can't be read: No such file or directory" pawl trust none.yaml
}

@test "pawl.yaml of another user is refused, even with harmless keys" {
	[ "$(id -u)" = 0 ] || skip 'only root can give files away'
	printf 'tenant: t\n' >pawl.yaml
	chown 12345 pawl.yaml
	refused 2 'pawl.yaml is refused, because it belongs to another user (uid 12345): a configuration file must be writable only by you and root' pawl ls
	refused 2 'because it belongs to another user' pawl trust
	refused 2 'because it belongs to another user' env PAWL_CONFIG=pawl.yaml pawl ls
}

@test "pawl.yaml and workflow file that are FIFOs are refused at once" {
	mkfifo pawl.yaml
	refused 2 "pawl.yaml can't be read: it is a FIFO" timeout 60 pawl ls
	rm pawl.yaml
	rm x.yaml
	mkfifo x.yaml
	refused 2 "x.yaml can't be read: it is a FIFO" timeout 60 pawl validate x.yaml
	printf 'name: w\ntasks: {a: {workflow: x.yaml}}\n' >w.yaml
	[[ $(timeout 60 pawl validate w.yaml 2>&1) == *"x.yaml can't be read: it is a FIFO"* ]]
}
