#!/usr/bin/env bats
# Backups as docs/OPERATIONS.md describes them: made while a worker runs, only with the database's own tools.

load cli_common
load cli_run

setup() {
	make_database
	make_state
	# half of the tasks wait until the backup is made, however long that takes
	cat >"$dir/flow.yaml" <<-EOF
		name: w
		tasks:
		  each:
		    foreach: 40
		    retry: {max: 2, delay: 1ms}
		    run: test "\$ITEM" -lt 20 || until test -e "$dir/go"; do sleep 0.05; done
	EOF
}
teardown() {
	end_all
	[ -z "${restored:-}" ] || psql -q "$db" -c "DROP DATABASE IF EXISTS $restored WITH (FORCE)" || true
	remove_database
}

back_up() {
	case $PAWL_TEST_DB in
	sqlite) sqlite3 -readonly "$dir/pawl.$tenant.db" "VACUUM INTO '$dir/backup.db'" ;;
	postgres) pg_dump --format=custom --schema="pawl_$tenant" --file="$dir/backup.dump" "$db" ;;
	esac
}

# Restores next to the original, so that both can be inspected; p2 runs pawl on the copy.
restore() {
	case $PAWL_TEST_DB in
	sqlite)
		mkdir "$dir/again"
		mv "$dir/backup.db" "$dir/again/pawl.$tenant.db"
		again=sqlite:$dir/again/pawl.db
		;;
	postgres)
		restored=pawl_again_$$_$RANDOM
		psql -q "$db" -c "CREATE DATABASE $restored"
		again=${db%/*}/$restored
		pg_restore --dbname="$again" "$dir/backup.dump"
		;;
	esac
}
p2() { pawl --db "$again" --tenant "$tenant" "$@"; }

newest_event() { "$1" events --limit 1 --json | jq .sequence_num; }
some_ended() { [ "$(p events --type task.completed --json --limit 20 | wc -l)" -ge 10 ]; }

@test "backup made while a worker runs is complete, and its open work continues after a fence" {
	id=$(p submit "$dir/flow.yaml")
	start_worker --slots 4
	until_true some_ended
	back_up
	touch "$dir/go"
	until_true has_status "$id" succeeded
	kill "$worker"
	wait_for "$worker"
	lost=$(p exec --detach -- true)
	p cancel "$lost" >/dev/null
	lost_event=$(newest_event p)
	p verify

	restore
	p2 verify
	[[ $(p2 show "$id" --json) == *'"status":"running"'* ]]
	[[ $(p2 admin fence --yes) == *' running job'*' taken from '* ]]
	p2 worker --drain
	[[ $(p2 show "$id" --json) == *'"status":"succeeded"'* ]]
	[ "$(p2 exec --detach -- true)" -gt "$lost" ]
	[ "$(newest_event p2)" -gt "$lost_event" ]
	p2 worker --drain
	p2 verify --host
	p verify --host # the original is unaffected
}
