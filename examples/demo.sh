#!/bin/sh
# demo.sh - runs a workflow whose worker is killed in the middle, without harm to the workflow. `make demo` builds
# everything and runs this script; pawl must be in PATH. All files are in a temporary folder that is removed at the end,
# except the database if PAWL_DEMO_DB names a file for it.
set -eu

cd "$(dirname "$0")"
dir=$(mktemp -d "${TMPDIR:-/tmp}/pawl-demo.XXXXXX")
worker=
finish() {
	[ -z "$worker" ] || kill "$worker" 2>/dev/null || true
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

db=${PAWL_DEMO_DB:-$dir/pawl.db}
rm -f "$db" "$db-wal" "$db-shm"
export PAWL_DB="sqlite:$db" XDG_STATE_HOME="$dir/state"
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] || say() { printf '\n# %s\n' "$*"; }
run() {
	echo "\$ $*"
	"$@"
}
# Waits until at least $1 commands have started.
started() {
	for _ in $(seq 200); do
		[ "$(pawl events @last --type task.started --json | wc -l)" -lt "$1" ] || return 0
		sleep 0.05
	done
}

say 'A workflow: a fan-out of six, a task that fails at first, and a report that needs both.'
run pawl graph demo.flow.yaml
run pawl submit demo.flow.yaml

say 'A worker claims its jobs. The accepted workflow is durable in the SQLite file.'
echo '$ pawl worker --slots 4 &'
pawl worker --slots 4 2>/dev/null &
worker=$!
started 5 # four of the fan-out, and the task that fails at first
run pawl tree @last

say 'The worker is killed while its jobs run: kill -9, without any cleanup.'
kill -9 "$worker"
wait "$worker" 2>/dev/null || true
worker=

say 'Its commands continue without it. The next worker adopts them; none is started again.'
run pawl worker --slots 4 --drain
run pawl tree @last

say 'This is what happened to one of them: one attempt, two workers.'
id=$(pawl events --type adopted --json | sed -n '$s/.*"execution":\([0-9]*\).*/\1/p')
run pawl events "${id:-@last}"
run pawl logs "${id:-@last}"

say 'Check every invariant of the database.'
run pawl verify

if [ -n "${PAWL_DEMO_DB:-}" ]; then
	say 'Look at this run in a browser: the server prints the address to open. Control-C ends it.'
	echo "\$ $(command -v pawl) serve --db sqlite:$PAWL_DEMO_DB"
fi

say 'Now try it yourself; docs/QUICKSTART.md continues from here.'
echo "\$ export PATH=\"$(dirname "$(command -v pawl)"):\$PATH\""
echo '$ pawl init && pawl run hello.flow.yaml'
echo '$ pawl serve --worker 4      # the same in a browser, and a worker'
