#!/usr/bin/env bats
# pawl admin hook: create, list and revoke webhooks.

load cli_common

setup() { make_database; }
teardown() { remove_database; }

@test "secret of a new webhook is printed alone on standard output, once" {
	p admin hook create push --reason 'deploys' >"$dir/secret" 2>"$dir/note"
	[[ $(cat "$dir/secret") =~ ^whsec_[A-Za-z0-9+/]{43}=$ ]]
	[[ $(cat "$dir/note") == 'webhook push created: send its messages to /v1/hooks/push of a server'* ]]
	printf "It's a Secret to Everybody\nsecond line\n" >"$dir/given"
	same "It's a Secret to Everybody" "$(p admin hook create hub --signature github --secret-file "$dir/given" 2>/dev/null)"
	printf 'name: w\non: {webhook: push}\ntasks: {a: x}\n' >"$dir/w.flow.yaml"
	p apply "$dir/w.flow.yaml" >/dev/null
	p admin hook list >"$dir/list"
	grep -qE '^NAME +DIRECTION +SIGNATURE +WORKFLOW +URL +CREATED \(UTC\)' "$dir/list"
	grep -qE '^push +in +standard +w ' "$dir/list"
	grep -qE '^hub +in +github +- ' "$dir/list"
	p admin hook list --json >>"$dir/list"
	without "$(cut -c 7- "$dir/secret")" <"$dir/list"
	without 'Secret to Everybody' <"$dir/list"
	same 'webhook push revoked' "$(p admin hook revoke push)"
	refused 5 "there is no webhook 'push' to revoke" p admin hook revoke push
	same hub "$(p admin hook list --json | jq -r .name)"
	p verify
}

@test "wrong arguments of admin hook are refused with what to write" {
	refused 2 'write `pawl admin hook create NAME`' p admin hook
	refused 2 'write `pawl admin hook create NAME`' p admin hook delete push
	refused 2 'belong to `pawl admin hook create`' p admin hook list --signature github
	refused 2 'a webhook without a URL starts a workflow' p admin hook create push --status failed
	refused 2 'must start with https:// or http://' p admin hook create push --url ftp://h/
	refused 2 'give --queue once' p admin hook create push --url http://h/ --queue a --queue b
	refused 2 'the name of a webhook must be' p admin hook create 'a b'
	refused 2 "can't be read" p admin hook create push --secret-file "$dir/none"
	echo short >"$dir/short"
	refused 2 'the secret must be whsec_' p admin hook create push --secret-file "$dir/short"
	p admin hook create push >/dev/null 2>&1
	refused 2 "there is already a webhook 'push'" p admin hook create push
}

@test "webhook with a URL is listed with what it reports" {
	p admin hook create ops --url https://chat.example/pawl --status failed,timed_out --workflow w --queue q --tasks >"$dir/secret" 2>"$dir/note"
	[[ $(cat "$dir/secret") =~ ^whsec_ ]]
	grep -q '^webhook ops created: workers that serve the queue pawl:hooks report to https://chat.example/pawl' "$dir/note"
	same 'out https://chat.example/pawl failed,timed_out w q true' "$(p admin hook list --json |
		jq -r '"\(.direction) \(.url) \(.statuses | join(",")) \(.workflow) \(.queue) \(.tasks)"')"
	p verify
}
