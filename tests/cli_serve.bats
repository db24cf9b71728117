#!/usr/bin/env bats
# pawl serve: what it refuses before it becomes pawl-server. tests/test_server_*.py test the server.
# TEST_NO_DB

load cli_common

setup() { make_database; }
teardown() { remove_database; }

@test "serve refuses invalid options with an error that says what is wrong" {
	refused 2 '--worker must be a number from 1 to 10000' p serve --worker 0
	refused 2 'is not an address to listen on' p serve --listen nowhere
	refused 2 "can't listen on unix:$dir/no/socket" p serve --listen "unix:$dir/no/socket"
	refused 2 'the token file' p serve --listen 127.0.0.1:0 --token-file "$dir/missing"
	echo short >"$dir/short"
	refused 2 'from 32 to 255 characters' p serve --listen 127.0.0.1:0 --token-file "$dir/short"
	refused 2 'there is no token' p serve --listen 0.0.0.0:0
	refused 2 "'nowhere' is neither ADDRESS" p serve --listen 127.0.0.1:0 --trusted-proxy nowhere
	refused 2 "'10.0.0.0/33' is neither ADDRESS" p serve --listen 127.0.0.1:0 --trusted-proxy 10.0.0.0/33
	refused 2 "there is no user 'no-such-user'" p serve --listen "unix:$dir/s" --trusted-proxy user:no-such-user
	refused 2 'user:NAME needs a unix socket' p serve --listen 127.0.0.1:0 --trusted-proxy user:root
	refused 2 'named by its user' p serve --listen "unix:$dir/s" --trusted-proxy 127.0.0.1
	refused 2 '--proxy-scope needs --trusted-proxy' p serve --listen 127.0.0.1:0 --proxy-scope read
	refused 2 '--proxy-scope: ' p serve --listen 127.0.0.1:0 --trusted-proxy 127.0.0.1 --proxy-scope reed
	refused 2 "has no option '--json'" p serve --json
}

@test "serve without the program pawl-server names the package to install" {
	cp "$PAWL_TEST_BUILD/pawl" "$dir/pawl"
	refused 2 'install the package pawl-server' "$dir/pawl" serve --db "$db"
}
