#!/usr/bin/env bats
# The options that select executions, in `pawl ls` and in commands that act on many executions.

load cli_common

setup() { make_database; }
teardown() {
	end_worker
	remove_database
}

ids() { jq .id | paste -sd' '; }

@test "ls filters by worker, host, requester, param and time" {
	a=$(submit '{"ms": 1, "day": "mon"}')
	work
	b=$(submit '{"ms": 2, "day": "mon"}')
	same "$b $a" "$(p ls --param day=mon --json | ids)"
	same "$b" "$(p ls --param day=mon --param ms=2 --json | ids)"
	same "$a" "$(p ls --host "$(hostname)" --json | ids)"
	worker_id=$(p show "$a" --json | jq -r .worker)
	same "$a" "$(p ls --worker "$worker_id" --json | ids)"
	same "$b $a" "$(p ls --by "$(id -un)@*" --json | ids)"
	same '' "$(p ls --by nobody --json)"
	same "$b $a" "$(p ls --since 10m --json | ids)"
	same '' "$(p ls --until 10m --json)"
	same "$b" "$(p ls --since "$(p show "$b" --json | jq -r .requested_at)" --json | ids)"
	same "$a" "$(p ls --until "$(p show "$b" --json | jq -r .requested_at)" --json | ids)"
	p ls --by nobody 2>"$dir/stderr"
	same 'pawl: no executions without a parent match; --all searches at any depth' "$(cat "$dir/stderr")"
}

@test "ls --count prints how many executions have each status" {
	same '0 executions' "$(p ls --count)"
	submit 3 >/dev/null
	p cancel 1 >/dev/null
	same '3 executions: 2 ready, 1 cancelled' "$(p ls --count)"
	same '1 execution: 1 cancelled' "$(p ls --count --status cancelled)"
	same 'at least 2 executions: 2 ready' "$(p ls --count --limit 2)"
	same '{"total":3,"pending":0,"ready":2,"running":0,"succeeded":0,"failed":0,"timed_out":0,"cancelled":1,"skipped":0,"more":false}' \
		"$(p ls --count --json)"
	refused 2 "--count can't be combined with --tasks" p ls --count --tasks 1
}

@test "ls refuses wrong filters" {
	refused 2 "'x' is not a worker: write its 16 hexadecimal digits" p ls --worker x
	refused 2 "'day' is not a param: write NAME=VALUE" p ls --param day
	refused 2 "--since: 'soon' is not a time" p ls --since soon
	refused 2 "pawl ls does not take 'day=mon'; did you mean --param day=mon?" p ls day=mon
}

@test "values of the options --worker and --host are completed" {
	work_on "$(submit '{"ms": 30000}')"
	same "$(p workers --json | jq -r .id)" "$(pawl complete -- --db "$db" --tenant "$tenant" ls --worker '' | cut -f1)"
	same "$(hostname)" "$(pawl complete -- --db "$db" --tenant "$tenant" ls --host '' | cut -f1)"
}

# ---- actions on many executions

@test "dry run of a cancel prints the number of matching executions and the newest ten, and changes nothing" {
	submit 12 >/dev/null
	p cancel --kind exec --dry-run >"$dir/out"
	same 'would cancel 12 exec::nap (ready)' "$(head -n 1 "$dir/out")"
	same 'would cancel 3 exec::nap (ready)' "$(sed -n 10p "$dir/out")"
	same 'would cancel 12 executions; the newest are listed' "$(tail -n +11 "$dir/out")"
	same '{"id":12,"name":"exec::nap","status":"ready","error":null}' "$(p cancel --kind exec --dry-run --json | head -n 1)"
	same 12 "$(p cancel --kind exec --dry-run --json | wc -l)"
	same 'would cancel 12 exec::nap (ready)
would cancel 1 execution' "$(p cancel --kind exec --dry-run --limit 1)"
	same 12 "$(p ls --status ready --json | wc -l)"
}

@test "cancel with filters cancels the matching executions, and nothing when it is repeated" {
	a=$(submit '{"day": "mon"}')
	b=$(submit '{"day": "tue"}')
	c=$(submit '{"day": "mon"}')
	same "execution $c: cancelled
execution $a: cancelled
2 executions done" "$(p cancel --param day=mon --reason 'wrong day')"
	[[ $(p events "$a" --type cancelled) == *'"reason":"wrong day"}' ]]
	[[ $(p show "$b" --json) == *'"status":"ready"'* ]]
	p cancel --param day=mon >"$dir/out" 2>"$dir/stderr"
	same '' "$(cat "$dir/out")"
	same 'pawl: no executions without a parent match; --all searches at any depth' "$(cat "$dir/stderr")"
	p cancel --all --param day=mon >"$dir/out" 2>"$dir/stderr"
	same 'pawl: no executions match' "$(cat "$dir/stderr")"
	same "{\"id\":$b,\"name\":\"exec::nap\",\"status\":\"cancelled\",\"error\":null}" "$(p cancel --status ready --json --yes)"
	p verify
}

@test "pause, resume, skip and rerun with filters act on all matching executions" {
	submit 2 >/dev/null
	same 'execution 2: paused
execution 1: paused
2 executions done' "$(p pause --name 'exec::*')"
	same 'execution 2: resumed
1 execution done' "$(p resume --name 'exec::*' --limit 1)"
	same 'execution 2: skipped
execution 1: skipped
2 executions done' "$(p skip --since 1h --reason 'done by hand')"
	same 'would rerun 2 exec::nap (skipped)
would rerun 1 exec::nap (skipped)
would rerun 2 executions' "$(p rerun --status skipped --dry-run)"
	same 'execution 2: runs again
execution 1: runs again
2 executions done' "$(p rerun --status skipped)"
	p verify
}

@test "rerun with filters continues after a refused execution and returns the exit code of the refusal" {
	submit 3 >/dev/null
	p skip 1 2 3 >/dev/null
	sql "UPDATE executions SET queue = 'here:2' WHERE id = 2"
	run p rerun --status skipped
	[ "$status" = 2 ]
	[[ $output == *'execution 3: runs again'* ]]
	[[ $output == *'pawl: execution 2 ran in the foreground, so no worker serves its queue: rerun it alone with `pawl rerun 2`'* ]]
	[[ $output == *'execution 1: runs again'* ]]
	[[ $output == *'2 of 3 executions done, 1 refused, 0 had changed'* ]]
}

@test "cancel, pause, resume, skip and rerun are refused without ids or filters and with both" {
	id=$(submit '{"ms": 1}')
	for c in cancel pause resume skip rerun; do
		refused 2 "pawl $c needs more arguments: write ids, or filters such as --workflow" p "$c"
		refused 2 "pawl $c takes either ids or filters, not both" p "$c" "$id" --queue default
		refused 2 "$c needs at least one filter, such as the workflow or the status" p "$c" --all --yes
	done
	refused 2 '--dry-run belongs to filters' p cancel "$id" --dry-run
	refused 2 '--dry-run belongs to filters' p pause "$id" --dry-run
	refused 2 '--from, --set, --file and --state belong to the id of one execution' p rerun --status failed --from a
	refused 2 "cancel can't change executions with the status succeeded: use the status pending, ready, running" p cancel --status succeeded
	refused 5 'there is no execution 777' p cancel --parent 777
	[[ $(p show "$id" --json) == *'"status":"ready"'* ]]
}
