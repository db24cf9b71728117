#!/usr/bin/env bats
# A streaming replica is promoted, as docs/OPERATIONS.md describes it: once without the last commits of the primary, once
# with all of them. Each test has its own two servers.

load cli_common
load cli_run

server() { "$BATS_TEST_DIRNAME/pg_server" "$@" 3>&-; }
at() { psql -qAtX "$1" -c "$2"; } # URL statement

setup() {
	[ "$PAWL_TEST_DB" = postgres ] || skip 'of a server'
	dir=$(mktemp -d "${TMPDIR:-/tmp}/pawl-cli.XXXXXX")
	chmod 755 "$dir" # the servers run as another user
	unset PAWL_DB PAWL_TRACE
	make_state
	eval "$(server start "$dir/primary" $$)"
	primary=$PAWL_TEST_PG_URL
	eval "$(server replica "$dir/replica" "$dir/primary" $$)"
	replica=$PAWL_TEST_PG_URL
	db="postgres://postgres@127.0.0.1:$(cat "$dir/primary/port"),127.0.0.1:$(cat "$dir/replica/port")/postgres?target_session_attrs=read-write"
	tenant=t
	p admin tenant create t >/dev/null
	until_go=": $mark; while [ -d $dir ] && [ ! -e $dir/go ]; do sleep 0.1; done; echo went"
}
teardown() {
	[ "$PAWL_TEST_DB" = postgres ] || return 0
	end_all
	server stop "$dir/replica"
	server stop "$dir/primary"
	rm -rf "$dir"
}

newest_lsn() { at "$primary" 'SELECT pg_current_wal_flush_lsn()'; }
has_replayed() { [ "$(at "$replica" "SELECT pg_last_wal_replay_lsn() >= '$1'")" = t ]; } # LSN
is_promoted() { [ "$(at "$replica" 'SELECT pg_is_in_recovery()')" = f ]; }
is_running() { has_status "$1" running && has_event "$1" started; }
gone() { ! kill -0 "$1" 2>/dev/null; }

submit_by_sql() { at "$db" "SELECT pawl_t.pawl_submit('w')"; }

@test "promoted replica that lacks commits is not used until it is fenced, and no id of the lost time is given out again" {
	printf 'name: w\ntasks: {a: {run: "true"}}\n' >"$dir/w.yaml"
	p apply "$dir/w.yaml" >/dev/null
	kept=$(p exec --detach -- true)
	until_true has_replayed "$(newest_lsn)"
	at "$replica" "ALTER SYSTEM SET primary_conninfo = ''"
	at "$replica" 'SELECT pg_reload_conf()' >/dev/null
	until_true eval '[ "$(at "$primary" "SELECT count(*) FROM pg_stat_replication")" = 0 ]'

	start_worker --slots 4 # the replica lacks everything from here on
	until_true has_status "$kept" succeeded
	lost=$(p exec --detach -- sh -c "echo \$\$ >$dir/pid; $until_go")
	until_true is_running "$lost"
	for _ in 1 2 3; do newest=$(p exec --detach -- true); done
	until_true has_status "$newest" succeeded

	server ctl "$dir/primary" -m immediate stop
	server ctl "$dir/replica" promote
	until_true grep -q 'has changed from timeline .*/00000001 to .*/00000002.*pawl admin fence --yes' "$worker_log"
	refused 6 'pawl admin fence --nothing-lost' p exec --detach -- true
	run submit_by_sql
	[[ $status != 0 && $output == *'has changed from timeline'*'HINT:  Run `pawl admin fence --yes`'* ]]
	has_status "$kept" ready # it ran in the lost time; a process of that attempt may still run, so it must not start again
	kill -0 "$worker"
	kill -0 "$(cat "$dir/pid")"

	[[ $(p admin fence --yes) == generation* ]]
	wait_for "$worker"
	grep -q 'the database was fenced' "$worker_log"
	start_worker
	until_true gone "$(cat "$dir/pid")"
	until_true has_status "$kept" succeeded
	again=$(p exec --detach -- true)
	[ "$again" -gt "$newest" ]
	[ "$(submit_by_sql)" -gt "$again" ]
	until_true has_status "$again" succeeded
	p verify
	p verify --host
}

@test "switchover that lost no commit interrupts no command and is accepted without a fence" {
	start_worker --slots 4
	job=$(p exec --detach -- sh -c "$until_go")
	until_true is_running "$job"

	server ctl "$dir/primary" -m fast stop # sends everything to the replica first
	server ctl "$dir/replica" promote
	until_true is_promoted
	until_true eval '! p exec --detach -- true 2>>"$dir/refused" && grep -q "has changed from timeline" "$dir/refused"'
	[[ $(p admin fence --nothing-lost) =~ ^'timeline '[0-9]+'/00000002 is accepted; running jobs stay with their workers'$ ]]
	next=$(p exec --detach -- true)
	[ "$next" -lt 1000000 ]
	until_true has_status "$next" succeeded
	touch "$dir/go"
	until_true has_status "$job" succeeded
	same went "$(p logs "$job")"
	same 1 "$(p show "$job" --json | jq .attempt)"
	kill "$worker"
	wait_for "$worker"
	[ "$status" = 0 ]
	p verify
	p verify --host
}

@test "role that cannot read the timeline of the server runs jobs, and cannot accept a timeline" {
	at "$primary" 'CREATE ROLE other LOGIN' >/dev/null
	at "$primary" 'CREATE DATABASE other OWNER other' >/dev/null
	at "${primary%/*}/other" 'REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC'
	other="postgres://other@127.0.0.1:$(cat "$dir/primary/port")/other"
	pawl --db "$other" exec -- true
	refused 2 'a role with EXECUTE on pg_control_system' pawl --db "$other" admin fence --nothing-lost
	[[ $(pawl --db "$other" admin fence --yes) == generation* ]]
	pawl --db "$other" exec -- true
	pawl --db "$other" verify
}
