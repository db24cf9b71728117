# cli_common.bash - shared by the transcript tests of the command line: a new database for each test, on either store,
# and the commands that fill it.

# Creates a folder that other users may enter, a database in it or on the server, and a tenant for the test.
make_database() {
	dir=$(mktemp -d "${TMPDIR:-/tmp}/pawl-cli.XXXXXX")
	chmod 755 "$dir"
	case $PAWL_TEST_DB in
	sqlite) db=sqlite:$dir/pawl.db ;;
	postgres) db=$PAWL_TEST_PG_URL?connect_timeout=240 ;; # in case the machine stalls
	esac
	take_tenant || make_tenant
	unset PAWL_DB PAWL_TRACE XDG_STATE_HOME
}

remove_database() {
	give_tenant_back || pawl admin tenant drop "$tenant" --db "$db" >/dev/null 2>&1 || true
	rm -rf "$dir"
}

# Under tests/run, tests that pass return their PostgreSQL tenants for reuse: see fixture_tenant.c.
has_pool() { [ "$PAWL_TEST_DB" = postgres ] && [ -n "${PAWL_TEST_POOL:-}" ]; }
from_pool() { psql -qAtX "$db" -c "SELECT test_pool.$1('$PAWL_TEST_POOL', '$tenant')" 2>&1; }

take_tenant() {
	local file
	has_pool || return 1
	for file in "$PAWL_TEST_POOL"/*; do
		! rm "$file" 2>/dev/null || {
			tenant=${file##*/}
			return
		}
	done
	return 1
}

make_tenant() {
	tenant=cli_$$_${BATS_TEST_NUMBER}_$RANDOM
	pawl admin tenant create "$tenant" --db "$db" >"$dir/out"
	! has_pool || from_pool remember
}

give_tenant_back() {
	has_pool && [ -n "${BATS_TEST_COMPLETED:-}" ] && cat 1<>"$PAWL_TEST_KEEPER" <<-EOF
		\unset file
		SELECT test_pool.keep('$PAWL_TEST_POOL', '$tenant') AS file \gset
		\if :{?file}
		\o :file
		\o
		\endif
	EOF
}

p() { pawl --db "$db" --tenant "$tenant" "$@"; }
submit() { TENANT=$tenant "$PAWL_TEST_BUILD/examples/worker" submit "$db" "$@"; }
work() { TENANT=$tenant "$PAWL_TEST_BUILD/examples/worker" run "$db" --drain --for 240000; }

# Starts a worker in the background and waits until it runs the job.
work_on() { # execution [lease in ms]
	TENANT=$tenant "$PAWL_TEST_BUILD/examples/worker" run "$db" --for 600000 --lease "${2:-30000}" 3>&- &
	worker=$!
	for _ in $(seq 2400); do
		! p show "$1" --json | grep -q '"status":"running"' || return 0
		sleep 0.05
	done
	return 1
}

# Kills the worker without a trace: it reports nothing, and its lease has not expired yet. (A worker that is only
# stopped might hold the file's lock.)
end_worker() {
	[ -n "${worker:-}" ] || return 0
	kill -9 "$worker" 2>/dev/null || true
	wait "$worker" 2>/dev/null || true
	worker=
}

# Runs raw SQL on the tenant's tables, without Pawl.
sql() {
	case $PAWL_TEST_DB in
	sqlite) sqlite3 "$dir/pawl.$tenant.db" "$1" ;;
	postgres) psql -qAt "$db" -c "SET search_path = pawl_$tenant; $1" ;;
	esac
}

# Runs a command that must fail with this exit code, print one line with these words on stderr, and nothing on stdout.
refused() { # code words command...
	local code=$1 words=$2 status=0 errors
	shift 2
	"$@" >"$dir/stdout" 2>"$dir/stderr" || status=$?
	IFS= read -r -d '' errors <"$dir/stderr" || true
	echo "$errors"
	[ "$status" = "$code" ] || {
		echo "exit code $status, not $code"
		return 1
	}
	[ ! -s "$dir/stdout" ]
	[[ $errors == *"$words"* ]] || {
		echo "does not say: $words"
		return 1
	}
	[[ $errors == *$'\n' && ${errors%$'\n'} != *[[:cntrl:]]* ]] # a second line would start with it, too
}

# Fails if the text occurs. A command after "!" would not fail a test.
without() { # pattern, text on the input
	if LC_ALL=C grep -q -- "$1"; then
		echo "there is: $1"
		return 1
	fi
}

# Replaces times, worker ids and durations by one letter each, so that transcripts can be compared.
plain() {
	sed -E -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:]{8}(\.[0-9]{6})?Z?/T/g' -e 's/[0-9a-f]{16}/W/g' \
		-e "s/$(id -un)@$(hostname)/U@H/g" -e "s/(W +on |\"host\":\")$(hostname)\b/\1H/g" \
		-e 's/[0-9.]+ (ms|s|m|h|d)\b( [0-9]+ (s|m|h)\b)?/D/g' -e 's/"(duration_us|ago_us)":[0-9]+/"\1":N/g' -e 's/ +/ /g' -e 's/ +$//'
}

same() { # expected actual
	diff <(printf '%s\n' "$1") <(printf '%s\n' "$2")
}
