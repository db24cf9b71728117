#!/bin/sh
# demo.sh - jobs that outlive the worker that took them. `make demo` builds all and runs this; pawl and
# worker (examples/worker.c) must be in PATH. Everything is in a temporary folder that goes at the end.
set -eu

dir=$(mktemp -d "${TMPDIR:-/tmp}/pawl-demo.XXXXXX")
workers=
finish() {
	for pid in $workers; do kill "$pid" 2>/dev/null || true; done
	rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

export PAWL_DB="sqlite:$dir/pawl.db"
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] || say() { printf '\n# %s\n' "$*"; }
run() {
	echo "\$ $*"
	"$@"
}

say '200 jobs go into a new SQLite file. What was accepted is durable.'
run worker submit "$PAWL_DB" 200
run pawl queue

say 'Three workers take them, four at a time each, under leases of one second.'
for i in 1 2 3; do
	worker run "$PAWL_DB" --lease 1000 --for 15000 --drain &
	workers="$workers $!"
done
sleep 0.6
run pawl workers

say 'One is killed in the middle of its work: kill -9, nothing is cleaned up.'
victim=${workers##* }
kill -9 "$victim"
workers=${workers% *}
wait "$victim" 2>/dev/null || true
run pawl queue

say 'The others go on, and take over its jobs when their leases have run out.'
for pid in $workers; do wait "$pid"; done
workers=
run pawl queue

say 'This is what happened to one of those: adopted, found to be lost, tried again.'
id=$(pawl events --type adopted --limit 1 --json | sed -n 's/.*"execution":\([0-9]*\).*/\1/p')
[ -n "$id" ] || id=@last
run pawl show "$id"
run pawl events "$id"

say 'Every rule that the database must obey is checked.'
run pawl verify
