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
	refused 2 "has no option '--json'" p serve --json
}

@test "serve without the program pawl-server names the package to install" {
	cp "$PAWL_TEST_BUILD/pawl" "$dir/pawl"
	refused 2 'install the package pawl-server' "$dir/pawl" serve --db "$db"
}
