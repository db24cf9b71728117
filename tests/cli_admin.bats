#!/usr/bin/env bats
# pawl admin, and the default location of the database.

load cli_common

setup() { make_database; }
teardown() { remove_database; }

@test "admin migrate of an up-to-date database changes nothing" {
	newest=$(ls "$BATS_TEST_DIRNAME/../src/store/migrations" | tail -n 1)
	same "schema version $((10#${newest%%_*}))" "$(p admin migrate)"
	same "schema version $((10#${newest%%_*}))" "$(p admin migrate)"
	p verify
}

@test "tenants are created, listed and dropped" {
	same "tenant ${tenant}x created" "$(pawl admin tenant create "${tenant}x" --db "$db")"
	pawl admin tenant list --db "$db" | grep -qx "$tenant"
	pawl admin tenant list --db "$db" | grep -qx "${tenant}x"
	refused 2 'already exists' pawl admin tenant create "${tenant}x" --db "$db"
	same "tenant ${tenant}x dropped" "$(pawl admin tenant drop "${tenant}x" --db "$db")"
	pawl admin tenant list --db "$db" | without "${tenant}x"
	refused 5 "there is no tenant '${tenant}x'" pawl admin tenant drop "${tenant}x" --db "$db"
	refused 2 "is not a valid tenant name" pawl admin tenant create 'No; DROP' --db "$db"
	refused 2 'tenant create NAME' pawl admin tenant create --db "$db"
}

@test "tenants do not see each other's executions" {
	pawl admin tenant create "${tenant}x" --db "$db"
	submit 3
	[ "$(pawl queue --json --db "$db" --tenant "${tenant}x" | wc -l)" = 0 ]
	pawl admin tenant drop "${tenant}x" --db "$db"
	[[ $(p queue --json) == *'"ready":3'* ]]
}

@test "cleanup-events removes only old ended executions" {
	submit 5 >/dev/null
	work
	same 'would remove 0 trees (0 executions, 0 events) that ended more than 90 d 0 h ago' \
		"$(p admin cleanup-events --older-than 90d --dry-run)"
	submit '{"ms": 1}' >/dev/null
	same 'would remove 5 trees (5 executions, 25 events) that ended more than 0.0 ms ago' \
		"$(p admin cleanup-events --older-than 0s --dry-run)"
	[ "$(p events --limit 0 | wc -l)" = 27 ]
	same 'removed 5 trees (5 executions, 25 events) that ended more than 0.0 ms ago' \
		"$(p admin cleanup-events --older-than 0s)"
	[ "$(p events --limit 0 | wc -l)" = 2 ]
	p verify
	refused 2 'missing age' p admin cleanup-events
	refused 2 "'90' is not a duration" p admin cleanup-events --older-than 90
}

@test "admin retention shows both periods, changes only the given ones, and records the user" {
	same $'executions  90 days\nlogs        as long as their executions\n(default; not set in the database)' \
		"$(p admin retention)"
	p admin retention set --days 3650 --log-days 30 --reason 'the auditors ask' | grep -q '^executions  3650 days$'
	p admin retention set --days forever >"$dir/out"
	same $'executions  forever\nlogs        30 days' "$(head -n 2 "$dir/out")"
	[[ $(sed -n 3p "$dir/out") == 'changed '*" by $(id -un)@"* ]]
	p admin retention show --json | grep -q '^{"execution_days":null,"log_days":30,"source":"database",'
	refused 2 'missing value' p admin retention set
	refused 2 "needs a number of days or forever, but got '0'" p admin retention set --days 0
	refused 2 'belong to `pawl admin retention set`' p admin retention --days 3
	refused 2 "can't be kept for 9 days" p admin retention set --days 8 --log-days 9
	same $'executions  forever\nlogs        30 days' "$(p admin retention | head -n 2)"
	p verify
}

@test "without --db, the database is PAWL_DB or a private file in the state folder" {
	export HOME=$dir/home XDG_STATE_HOME=
	mkdir "$HOME"
	refused 6 "there is no database at $HOME/.local/state/pawl/pawl.db" pawl queue
	[ ! -e "$HOME/.local" ]
	pawl admin migrate
	[ "$(stat -c %a "$HOME/.local/state/pawl")" = 700 ]
	[ "$(stat -c %a "$HOME/.local/state/pawl/pawl.db")" = 600 ]
	pawl queue
	XDG_STATE_HOME=$dir/state pawl admin migrate
	[ -f "$dir/state/pawl/pawl.db" ]
	PAWL_DB=sqlite:$dir/other.db pawl admin migrate
	[ -f "$dir/other.db" ]
	refused 6 "there is no database at $dir/none.db" env PAWL_DB="sqlite:$dir/none.db" pawl queue
	refused 2 'no database is named' env -u HOME pawl queue
}

@test "options are accepted before the command, after the command, and with an equals sign" {
	submit 1 >/dev/null
	[ "$(pawl --db "$db" --tenant "$tenant" show 1 | wc -l)" -gt 3 ]
	[ "$(pawl show --db="$db" --tenant="$tenant" 1 | wc -l)" -gt 3 ]
	[ "$(pawl show --db "$db" --tenant "$tenant" -- 1 | wc -l)" -gt 3 ]
}

@test "help and version are printed" {
	[[ $(pawl --version) == 'pawl '[0-9]* ]]
	pawl help | grep -q '^  verify '
	pawl --help | grep -q '^  verify '
	same 'usage: pawl show ID [OPTION]…' "$(pawl help show | head -n 1)"
	same 'usage: pawl show ID [OPTION]…' "$(pawl show --help | head -n 1)"
	run pawl
	[ "$status" = 2 ]
}
