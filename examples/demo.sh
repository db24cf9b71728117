#!/bin/sh
# demo.sh - a workflow whose worker is killed in the middle, and that is none the worse for it. `make demo` builds
# all and runs this; pawl must be in PATH. Everything is in a temporary folder that goes at the end.
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

export PAWL_DB="sqlite:$dir/pawl.db" XDG_STATE_HOME="$dir/state"
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] || say() { printf '\n# %s\n' "$*"; }
run() {
	echo "\$ $*"
	"$@"
}
# Waits until so many tasks of the fan-out run.
running() {
	for _ in $(seq 200); do
		[ "$(pawl tree @last --json | grep -o '"status":"running","attempt":1' | wc -l)" -lt "$1" ] || return 0
		sleep 0.05
	done
}

say 'A workflow: a fan-out of six, a task that fails at first, and a report that needs both.'
run pawl graph demo.flow.yaml
run pawl submit demo.flow.yaml

say 'A worker takes it. What was accepted is in the SQLite file, and durable.'
echo '$ pawl worker --slots 4 &'
pawl worker --slots 4 2>/dev/null &
worker=$!
running 4
sleep 0.3
run pawl tree @last

say 'The worker is killed in the middle of its work: kill -9, nothing is cleaned up.'
kill -9 "$worker"
wait "$worker" 2>/dev/null || true
worker=

say 'Its commands go on without it. The next worker takes them over; none is started again.'
run pawl worker --slots 4 --drain
run pawl tree @last

say 'This is what happened to one of them: one attempt, two workers.'
id=$(pawl events --type adopted --limit 1 --json | sed -n 's/.*"execution":\([0-9]*\).*/\1/p')
run pawl events "${id:-@last}"
run pawl logs "${id:-@last}"

say 'Every rule that the database must obey is checked.'
run pawl verify

say 'Your turn; docs/QUICKSTART.md goes on from here.'
echo "\$ export PATH=\"$(dirname "$(command -v pawl)"):\$PATH\""
echo '$ pawl init && pawl run hello.flow.yaml'
