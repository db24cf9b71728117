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

@test "ls refuses wrong filters" {
	refused 2 "'x' is not a worker: write its 16 hexadecimal digits" p ls --worker x
	refused 2 "'day' is not a param: write NAME=VALUE" p ls --param day
	refused 2 "--since: 'soon' is not a time" p ls --since soon
	refused 2 "pawl ls does not take 'day=mon'; did you mean --param day=mon?" p ls day=mon
}

@test "workers and hosts are completed" {
	work_on "$(submit '{"ms": 30000}')"
	same "$(p workers --json | jq -r .id)" "$(pawl complete -- --db "$db" --tenant "$tenant" ls --worker '' | cut -f1)"
	same "$(hostname)" "$(pawl complete -- --db "$db" --tenant "$tenant" ls --host '' | cut -f1)"
}
