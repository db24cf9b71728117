#!/usr/bin/env bats
# pawl admin token: create, list and revoke access tokens.

load cli_common

setup() { make_database; }
teardown() { remove_database; }

@test "new token is printed alone on standard output and explained on standard error" {
	p admin token create ci --scope read,submit --expires 90d --reason 'builds' >"$dir/token" 2>"$dir/note"
	[[ $(cat "$dir/token") =~ ^pawl_${tenant}_[A-Za-z0-9_-]{49}$ ]]
	[ "$(wc -l <"$dir/token")" = 1 ]
	same 'token ci created, valid for 90 d 0 h; it is not shown again: store it now' "$(cat "$dir/note")"
	p admin token create robot --scope admin 2>&1 >/dev/null | grep -q '^token robot created, valid until it is revoked;'
	p verify
}

@test "checksum of a token can be computed with standard tools" {
	token=$(p admin token create ci --scope read 2>/dev/null)
	sum=$(printf %s "${token%??????}" | b2sum -l 128 | cut -d ' ' -f 1 | tr a-f A-F | basenc --base16 -d | basenc --base64url)
	same "${token: -6}" "${sum:0:6}"
}

@test "tokens are listed without their secrets, and revoked by name" {
	token=$(p admin token create mailer --scope work --queue mail --queue news --lane function:mail 2>/dev/null)
	p admin token create ci --scope submit,read --expires 1d >/dev/null 2>&1
	p admin token list >"$dir/list"
	grep -qE '^NAME +SCOPES +QUEUES +LANES +EXPIRES \(UTC\) +LAST USED \(UTC\) +STATE$' "$dir/list"
	grep -qE '^ci +read,submit +any +any .* active$' "$dir/list"
	grep -qE '^mailer +work +mail,news +function:mail .* active$' "$dir/list"
	without "${token: -49}" <"$dir/list"
	same 'token mailer revoked' "$(p admin token revoke mailer --reason leaked)"
	p admin token list --json >"$dir/json"
	without "${token: -49}" <"$dir/json"
	same "revoked $(id -un)@ leaked null" "$(jq -r 'select(.name == "mailer") |
		"\(.state) \(.revoked_by | sub("@.*"; "@")) \(.last_order.reason) \(.expires_at)"' "$dir/json")"
	refused 5 "there is no token 'mailer' to revoke" p admin token revoke mailer
	p admin token create mailer --scope read >/dev/null 2>&1
	[ "$(p admin token list --json | jq -r .state | sort | tr '\n' ' ')" = 'active active revoked ' ]
	p verify
}

@test "JSON of a new and of a revoked token has its name" {
	p admin token create ci --scope read --json >"$dir/out" 2>"$dir/note"
	[ ! -s "$dir/note" ]
	same '["name","token"]' "$(jq -c keys "$dir/out")"
	[[ $(jq -r .token "$dir/out") == "pawl_${tenant}_"* ]]
	same '{"name":"ci","state":"revoked"}' "$(p admin token revoke ci --json)"
}

@test "wrong arguments of admin token are refused, and create no token" {
	refused 2 'missing scope: write `pawl admin token create NAME --scope read,submit`' p admin token create ci
	refused 2 '"raed" is not a scope: use one or more of read, submit, operate, work, admin, separated by commas; did you mean "read"?' \
		p admin token create ci --scope raed
	refused 2 'longer than 0' p admin token create ci --scope read --expires 0s
	refused 2 "'90' is not a duration" p admin token create ci --scope read --expires 90
	refused 2 "can't be restricted to queues or lanes" p admin token create ci --scope read --queue mail
	refused 2 'within 100 years' p admin token create ci --scope read --expires 40000d
	refused 2 'write `pawl admin token create NAME --scope SCOPES`' p admin token
	refused 2 'write `pawl admin token create NAME' p admin token create --scope read
	refused 2 'write `pawl admin token create NAME' p admin token rename ci
	refused 2 'belong to `pawl admin token create`' p admin token list --scope read
	same '' "$(p admin token list --json)"
	p admin token create ci --scope read >/dev/null 2>&1
	refused 2 "there is already a valid token 'ci'" p admin token create ci --scope read
}

@test "tokens of another tenant are neither listed nor revoked" {
	p admin token create ci --scope read >/dev/null 2>&1
	pawl admin tenant create "${tenant}x" --db "$db"
	same '' "$(pawl admin token list --json --db "$db" --tenant "${tenant}x")"
	refused 5 "there is no token 'ci'" pawl admin token revoke ci --db "$db" --tenant "${tenant}x"
	pawl admin tenant drop "${tenant}x" --db "$db"
	same active "$(p admin token list --json | jq -r .state)"
}
