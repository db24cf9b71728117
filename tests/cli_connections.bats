#!/usr/bin/env bats
# The connections to a PostgreSQL server: how many each command needs, what it does while there is none for it, and how
# soon a server drops those of a client that disappeared. Each test has its own server with few connections.

load cli_common
load cli_run

LIMIT=20 # connections of the server
ROLE=12  # connections of the role; a test that fills them is not disturbed by the administrator's

setup() {
	[ "$PAWL_TEST_DB" = postgres ] || skip 'a file has no connections'
	dir=$(mktemp -d "${TMPDIR:-/tmp}/pawl-cli.XXXXXX")
	chmod 755 "$dir" # the server runs as another user
	unset PAWL_DB PAWL_TRACE
	make_state
	eval "$("$BATS_TEST_DIRNAME/pg_server" start "$dir/pg" $$ 3>&-)"
	as_admin "CREATE ROLE app LOGIN CONNECTION LIMIT $ROLE" 'CREATE DATABASE app OWNER app' "ALTER SYSTEM SET max_connections = $LIMIT" \
		'ALTER SYSTEM SET log_connections = on' "ALTER SYSTEM SET listen_addresses = '*'"
	echo 'host all app 10.0.0.0/8 trust' >>"$dir/pg/data/pg_hba.conf"
	server restart
	db=${PAWL_TEST_PG_URL/postgres@/app@}
	port=${db##*:}
	port=${port%%/*}
	db=${db%/*}/app
	printf 'name: w\ntasks: {a: {run: "echo %s"}}\n' "$mark" >"$dir/flow.yaml"
	own admin migrate >/dev/null
}
teardown() {
	[ "$PAWL_TEST_DB" = postgres ] || return 0
	end_all
	[ -z "${netns:-}" ] || {
		ip netns del "$netns" || true
		ip link del "$link" 2>/dev/null || true
	}
	"$BATS_TEST_DIRNAME/pg_server" stop "$dir/pg"
	rm -rf "$dir"
}

own() { pawl --db "$db" "$@"; }
as_admin() {
	local sql
	for sql in "$@"; do psql -qAtX "$PAWL_TEST_PG_URL" -c "$sql"; done
}
server() { "$BATS_TEST_DIRNAME/pg_server" ctl "$dir/pg" "$@" 3>&-; }
connections() { as_admin "SELECT count(*) FROM pg_stat_activity WHERE usename = 'app'"; }
are_open() { [ "$(connections)" = "$1" ]; }
opened() { grep -c 'connection authorized: user=app' "$dir/pg/log"; } # since the start of the server
succeeded() { [ "$(own show "$1" --json | jq -r .status)" = succeeded ]; }

# Starts a command in the background.
start() { # name argument...
	local name=$1
	shift
	pawl --db "$db" "$@" >"$dir/$name" 2>&1 3>&- & # not by a function, so that $! is its pid
	started+=($!)
}
says() { grep -q -- "$2" "$dir/$1"; }

# Takes all connections that the role may have, and returns when they are open.
take_all() {
	for _ in $(seq $ROLE); do
		psql -qAtX "$db" -c "SELECT pg_sleep(3600), '$mark'" >/dev/null 2>&1 3>&- &
		started+=($!)
	done
	until_true are_open $ROLE
}
release_all() { as_admin "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%$mark%' AND usename = 'app'" >/dev/null; }

@test "worker has two connections, and with several loops one more for each loop" {
	start worker worker
	until_true says worker 'is ready'
	are_open 2
	id=$(own submit "$dir/flow.yaml" --json | jq -r .id)
	until_true succeeded "$id"
	until_true are_open 2
	before=$(opened)
	sleep 12 # a heartbeat
	[ "$(opened)" = "$before" ]
	kill -TERM "${started[0]}"
	wait "${started[0]}"
	until_true are_open 0

	start loops worker --loops 3
	until_true says loops 'is ready'
	are_open 5
	id=$(own submit "$dir/flow.yaml" --json | jq -r .id)
	until_true succeeded "$id"
	until_true are_open 5
	own verify
}

@test "exec opens two connections; submit, events --follow and top open one each" {
	before=$(opened)
	id=$(own submit "$dir/flow.yaml" --json | jq -r .id)
	[ $(($(opened) - before)) = 1 ]
	until_true are_open 0
	own worker --drain 2>/dev/null

	start events events --follow
	until_true are_open 1
	until_true eval 'own exec -- true && says events task.completed'
	until_true are_open 1
	[ "$(as_admin "SELECT count(*) FROM pg_stat_activity WHERE usename = 'app' AND query LIKE '%LISTEN%'")" -le 1 ]
	kill "${started[0]}"
	until_true are_open 0

	! command -v script >/dev/null || {
		script -qc "exec pawl --db '$db' top # $mark" /dev/null </dev/zero >"$dir/top" 2>&1 3>&- &
		started+=($!)
		until_true are_open 1
		sleep 2
		are_open 1
		kill "${started[1]}"
		for pid in $(marked); do kill "$pid" 2>/dev/null || true; done
		until_true are_open 0
	}

	before=$(opened)
	own exec -- sh -c "sleep 1; : $mark"
	[ $(($(opened) - before)) = 2 ]
	own verify
}

@test "worker without a connection waits, reports it once, and works when a connection is free" {
	take_all
	start worker worker
	until_true says worker 'waiting until it accepts the connection'
	says worker 'SQLSTATE 53300'
	sleep 3
	kill -0 "${started[-1]}"
	[ "$(wc -l <"$dir/worker")" = 1 ]
	release_all
	until_true says worker 'accepts connections again'
	until_true says worker 'is ready'
	id=$(own submit "$dir/flow.yaml" --json | jq -r .id)
	until_true succeeded "$id"
	own verify
}

@test "worker that gets only some of its connections closes them and waits" {
	take_all
	as_admin "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app' LIMIT 1" >/dev/null
	until_true are_open $((ROLE - 1))
	start worker worker # one connection is free, and it needs two
	until_true says worker 'waiting until it accepts the connection'
	until_true are_open $((ROLE - 1))
	as_admin "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app' AND query LIKE '%$mark%' LIMIT 1" >/dev/null
	until_true says worker 'is ready'
	are_open $ROLE
}

@test "worker that waits for a connection ends on SIGTERM" {
	take_all
	start worker worker
	until_true says worker 'waiting until it accepts the connection'
	kill -TERM "${started[-1]}"
	wait "${started[-1]}"
}

@test "submit without a connection waits, and ls gives up earlier with exit code 6" {
	take_all
	start submit submit "$dir/flow.yaml"
	until_true says submit 'waiting until it accepts the connection'
	status=0
	from=$SECONDS
	own ls >"$dir/ls" 2>&1 || status=$?
	[ "$status" = 6 ]
	[ $((SECONDS - from)) -lt 25 ] # the submission waits 30 s
	grep -q 'raise max_connections' "$dir/ls"
	kill -0 "${started[-1]}"
	release_all
	wait "${started[-1]}"
	own verify
}

@test "submit and a worker connect although more events --follow commands run than the server has connections" {
	as_admin 'ALTER ROLE app CONNECTION LIMIT -1'
	for i in $(seq $((LIMIT + 4))); do start "events$i" events --follow; done
	until_true eval "grep -q 'gives up its own, so that workers and submitters can connect' '$dir'/events*"
	for _ in 1 2 3; do own submit "$dir/flow.yaml" >/dev/null; done
	start worker worker
	until_true says worker 'is ready'
	until_true succeeded "$(own submit "$dir/flow.yaml" --json | jq -r .id)"
	own verify
}

@test "connections of a worker that is cut off disappear from the server" {
	[ -n "${PAWL_TEST_FULL:-}" ] || skip 'takes more than a minute'
	[ "$(id -u)" = 0 ] || skip 'only root can make a network'
	netns=pawl-$$-$RANDOM
	link=pw$RANDOM
	ip netns add "$netns" 2>/dev/null || {
		netns=
		skip 'no network namespace can be made here'
	}
	ip link add "$link" type veth peer name inside netns "$netns"
	ip addr add 10.213.77.1/24 dev "$link"
	ip link set "$link" up
	ip -n "$netns" addr add 10.213.77.2/24 dev inside
	ip -n "$netns" link set inside up
	ip netns exec "$netns" env XDG_STATE_HOME="$XDG_STATE_HOME" "$(command -v pawl)" \
		--db "postgres://app@10.213.77.1:$port/app" worker >"$dir/worker" 2>&1 3>&- &
	started+=($!)
	until_true says worker 'is ready'
	are_open 2
	ip link set "$link" down
	from=$SECONDS
	until_true are_open 0 # within 90 s; without keepalives of the server it takes hours
	echo "gone after $((SECONDS - from)) s"
}
