#!/usr/bin/env bats
# Invalid input and a faulty environment: one clear sentence, the right exit code, nothing partially written.

load cli_common

setup() { make_database; }
teardown() {
	[ -z "${mounted:-}" ] || umount "$mounted"
	[ -z "${server:-}" ] || "$BATS_TEST_DIRNAME/pg_server" stop "$server"
	remove_database
}

unchanged() { # the database is intact, with this many executions
	[ "$(sql 'SELECT count(*) FROM executions')" = "$1" ]
	p verify
}

@test "unknown command or option is refused" {
	refused 2 "unknown command 'shw'; did you mean \`pawl show\`?" pawl shw
	refused 2 "unknown command 'shw'; did you mean \`pawl show\`?" pawl help shw
	refused 2 "unknown command 'frobnicate': \`pawl help\` lists all commands" pawl frobnicate
	refused 2 "has no option '--frobnicate'" p show 1 --frobnicate
	refused 2 "has no option '-x'" p show 1 -x
	refused 2 '--db needs a value' pawl queue --db
	refused 2 '--json takes no value' p queue --json=yes
	refused 2 'needs more arguments: write `pawl show ID`' p show
	refused 2 'needs more arguments: see `pawl help admin`' p admin
	refused 2 "does not take '2'" p show 1 2
	refused 2 "pawl admin has no subcommand 'explode': write migrate, tenant, token, hook, retention, routes, cleanup-events or fence" p admin explode
	refused 2 "--limit needs a whole number of at least 0, but got 'many'" p events --limit many
}

@test "misspelt option, param or file name gets a suggestion" {
	printf 'name: shop\nparams: {day: monday}\ntasks: {pack: "true", bill: {needs: pack, run: "exit 127"}}\n' >"$dir/shop.flow.yaml"
	refused 2 "has no option '--parm'; did you mean --param?" p run "$dir/shop.flow.yaml" --parm day=friday
	refused 2 "does not take 'day=friday'; did you mean --param day=friday?" p run "$dir/shop.flow.yaml" day=friday
	refused 2 'has no param dya; did you mean day?' p submit "$dir/shop.flow.yaml" --param dya=friday
	refused 2 'has no param x: its params are day' p submit "$dir/shop.flow.yaml" --param x=y
	printf 'name: needy\nparams: {day: {type: string, required: true}, n: {type: integer}}\ntasks: {a: "true"}\n' >"$dir/needy.yaml"
	refused 2 'the param day is missing: it must be a string; write --param day=VALUE' p run "$dir/needy.yaml"
	refused 2 'the param day is missing: it must be a string; write --param day=VALUE' p submit "$dir/needy.yaml"
	refused 2 "the param n must be an integer, not 'x'" p run "$dir/needy.yaml" --param n=x --param day=friday
	for name in shop shop.yaml shpo.flow.yaml; do
		refused 5 "No such file or directory; did you mean $dir/shop.flow.yaml?" p run "$dir/$name"
	done
	refused 5 '`pawl init` writes an example workflow file' p run "$dir/no/where.yaml"
	touch "$dir/bill"$'\e[31m'.yaml
	refused 5 "did you mean $dir/bill[31m.yaml?" p run "$dir/bil[31m.yaml"
	refused 5 "did you mean $dir/shop.flow.yaml?" p apply "$dir/shop"
	refused 2 "has no option '-l': to pass it to the command, write \`pawl exec -- CMD -l\`" p exec ls -l
	refused 5 'there is no schedule shop: `pawl schedule` lists them' p schedule run shop
	refused 5 'no workflow is applied under the name shop: `pawl workflow` lists those that are, `pawl apply FILE` adds one' p submit shop
	unchanged 0
	[ "$PAWL_TEST_DB" = postgres ] || refused 6 '`pawl admin migrate` creates it, and so does the first run or submission' pawl ls --db "sqlite:$dir/none.db"
}

@test "run of a fixed file after a failed run suggests a rerun" {
	printf 'name: shop\ntasks: {pack: "true", bill: {needs: pack, run: nosuch}}\n' >"$dir/shop.flow.yaml"
	status=0
	XDG_STATE_HOME=$dir p run "$dir/shop.flow.yaml" --progress plain >"$dir/stdout" 2>"$dir/stderr" || status=$?
	cat "$dir/stderr"
	[ "$status" = 1 ]
	grep -q 'shop::bill ([0-9]*) failed: exited with code 127 (command not found)' "$dir/stderr"
	again=$(sed -n 's/^    after fixing the file: pawl //p' "$dir/stderr")
	id=$(p ls --json | jq .id)
	[ "$again" = "rerun $id --failed --file $dir/shop.flow.yaml" ]
	refused 2 "has no task 'bil'; did you mean 'bill'?" p rerun "$id" --from bil
	sed -i 's/nosuch/"true"/' "$dir/shop.flow.yaml"
	XDG_STATE_HOME=$dir p rerun "$id" --failed && false # the rerun uses the definition that the run was started with
	XDG_STATE_HOME=$dir p $again
	[ "$(p show @last --json | jq -r '.status, .rerun_of' | paste -sd' ')" = "succeeded $id" ]
	[ "$(p events @last --type reused --json | wc -l)" = 1 ]
	p verify
}

@test "rerun hint of a failed run can be pasted into a shell" {
	file="$dir/it's my shop.yaml"
	printf 'name: shop\ntasks: {bill: nosuch}\n' >"$file"
	export XDG_STATE_HOME=$dir
	p run "$file" --progress plain >"$dir/stdout" 2>"$dir/stderr" && false
	again=$(sed -n 's/^    after fixing the file: pawl //p' "$dir/stderr")
	sed -i 's/nosuch/"true"/' "$file"
	eval "p $again"
}

@test "configuration error is shown with its line and column" {
	printf 'worker: {slts: 2}\nretry: many\n' >"$dir/pawl.yaml"
	status=0
	pawl worker --config "$dir/pawl.yaml" --db "$db" 2>"$dir/stderr" || status=$?
	[ "$status" = 2 ]
	diff "$dir/stderr" - <<-END
		pawl: $dir/pawl.yaml:1:10: there is no key "slts" in worker; did you mean "slots"?
		     1 | worker: {slts: 2}
		       |          ^
		$dir/pawl.yaml:2:8: retry: a number of retries or a mapping (key: value) is expected, not 'many'
		     2 | retry: many
		       |        ^
	END
}

@test "malformed id is refused" {
	for id in x -1 0 1.5 '' 99999999999999999999 '1; DROP TABLE executions'; do
		refused 2 'is not an id' p show -- "$id"
	done
	refused 5 'there is no execution 12345' p show 12345
	refused 5 'there is no execution 12345' p tree 12345
	refused 5 'there is no execution 12345' p events 12345
	refused 5 'there is no execution 12345' p events 12345 --follow
	unchanged 0
}

@test "malformed URL is refused" {
	refused 2 'URL' pawl queue --db nonsense
	refused 2 'empty' pawl queue --db ''
	refused 2 '"mysql" is not a supported kind of database' pawl queue --db mysql://u@h/d
	refused 2 'has no file name' pawl queue --db sqlite:
	refused 2 'URL' pawl queue --db 'postgres://h/d?frobnicate=1'
	refused 2 'in memory' pawl queue --db sqlite::memory:
}

@test "password is not printed in an error" {
	refused 6 '***' pawl queue --db postgres://u:geheim@127.0.0.1:1/d
	without geheim <"$dir/stderr"
	refused 2 '' pawl queue --db postgres://u:ge@heim@127.0.0.1:1/d
	without heim <"$dir/stderr"
}

@test "unreachable server is reported" {
	refused 6 '127.0.0.1' pawl queue --db postgres://postgres@127.0.0.1:1/postgres
	refused 6 '127.0.0.1' pawl admin migrate --db postgres://postgres@127.0.0.1:1/postgres
	refused 6 'nowhere' pawl queue --db postgres://postgres@nowhere.invalid/postgres
}

@test "unknown or invalid tenant is refused" {
	refused 5 'nobody' pawl queue --db "$db" --tenant nobody
	refused 5 'nobody' env TENANT=nobody "$PAWL_TEST_BUILD/examples/worker" submit "$db" 1
	[ ! -e "$dir/pawl.nobody.db" ]
	refused 2 "is not a valid tenant name" pawl queue --db "$db" --tenant '../../etc/passwd'
	refused 2 "is not a valid tenant name" pawl queue --db "$db" --tenant 'a"; DROP SCHEMA pawl'
}

@test "database with a newer or missing schema is refused" {
	sql "INSERT INTO schema_migrations (version, name, applied_at) VALUES (9999, 'later', $(
		[ "$PAWL_TEST_DB" = sqlite ] && echo 0 || echo 'now()'
	))"
	refused 6 'version 9999' p queue
	refused 6 'use a newer pawl' p admin migrate
	refused 6 'use a newer pawl' submit 1
	sql 'DELETE FROM schema_migrations' # the owner of the tables is then unknown
	refused 6 "that is not Pawl's" p queue
	[ "$PAWL_TEST_DB" = sqlite ] || return 0
	sqlite3 "$dir/empty.db" VACUUM
	refused 6 "sqlite:$dir/empty.db"' has no Pawl tables yet: `pawl admin migrate` creates them, and so does the first run or submission' \
		pawl queue --db "sqlite:$dir/empty.db"
}

@test "file that is not a database is refused" {
	printf 'these are not the bytes of a database\n%.0s' $(seq 100) >"$dir/text.db"
	sum=$(sha256sum <"$dir/text.db")
	refused 2 "$dir/text.db: file is not a database" pawl queue --db "sqlite:$dir/text.db"
	refused 2 "$dir/text.db: file is not a database" pawl admin migrate --db "sqlite:$dir/text.db"
	[ "$sum" = "$(sha256sum <"$dir/text.db")" ]
	refused 6 'folder' pawl queue --db "sqlite:$dir"
	refused 6 'there is no database' pawl queue --db "sqlite:$dir/none/pawl.db"
	refused 6 "$dir/none" pawl admin migrate --db "sqlite:$dir/none/pawl.db"
	[ ! -e "$dir/none" ]
}

@test "unreadable file or unwritable folder is reported" {
	[ "$(id -u)" = 0 ] || skip 'only root can become somebody else'
	cp "$(command -v pawl)" "$dir/pawl"
	pawl admin migrate --db "sqlite:$dir/own.db"
	nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/pawl" "$@"; }
	refused 6 "$dir/own.db" nobody queue --db "sqlite:$dir/own.db"
	chmod 644 "$dir/own.db"
	refused 6 "$dir/own.db" nobody queue --db "sqlite:$dir/own.db"
	refused 6 "$dir/new.db" nobody admin migrate --db "sqlite:$dir/new.db"
	[ ! -e "$dir/new.db" ]
	refused 6 'can'"'"'t be created: Permission denied; name another database with --db or PAWL_DB' \
		env -u XDG_STATE_HOME HOME="$dir" setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/pawl" exec --detach -- true
	pawl verify --db "sqlite:$dir/own.db"
}

@test "full disk is reported" {
	mkdir "$dir/small"
	mount -t tmpfs -o size=3m none "$dir/small" 2>/dev/null || skip 'no tmpfs can be mounted here'
	mounted=$dir/small
	worker=$PAWL_TEST_BUILD/examples/worker small=sqlite:$dir/small/pawl.db
	"$worker" submit "$small" 10
	dd if=/dev/zero of="$dir/small/ballast" bs=4k 2>/dev/null || true
	for _ in $(seq 50); do # the free space of the last page of the log is used first
		"$worker" submit "$small" 100 >/dev/null 2>&1 || break
	done
	before=$(pawl queue --json --db "$small")
	refused 6 'disk' "$worker" submit "$small" 1000
	[ "$(sed 's/"oldest_wait_us":[0-9]*//' <<<"$before")" = \
		"$(pawl queue --json --db "$small" | sed 's/"oldest_wait_us":[0-9]*//')" ]
	rm "$dir/small/ballast"
	"$worker" submit "$small" 10
	pawl verify --db "$small"
}

@test "wrong password is refused" {
	[ "$PAWL_TEST_DB" = postgres ] || skip 'a file has none'
	server=$dir/pg
	url=$("$BATS_TEST_DIRNAME/pg_server" start "$server" $$) || skip 'no server of our own'
	url=${url#*=}
	psql -q "$url" -c "CREATE ROLE ada LOGIN SUPERUSER PASSWORD 'richtig'"
	printf 'host all postgres all trust\nhost all all all scram-sha-256\n' >"$server/data/pg_hba.conf"
	psql -qAt "$url" -c 'SELECT pg_reload_conf()' >/dev/null
	url=${url#*@}
	refused 6 'password' pawl admin migrate --db "postgres://ada:falsch@$url"
	without falsch <"$dir/stderr"
	refused 6 'password' pawl admin migrate --db "postgres://ada@$url"
	pawl admin migrate --db "postgres://ada:richtig@$url"
	pawl verify --db "postgres://ada:richtig@$url"
}

@test "input that is too large, not JSON or not text is refused" {
	head -c 1048574 /dev/zero | tr '\0' 1 | sed 's/.*/"&"/' | tr -d '\n' | submit - # the largest input that is accepted
	head -c 104857600 /dev/zero | tr '\0' 1 >"$dir/huge"
	took=$SECONDS
	refused 2 'is 104857600 bytes long; at most 1048576 are allowed' submit - <"$dir/huge"
	[ $((SECONDS - took)) -lt 60 ] # takes a moment; the limit allows for a stalled machine
	refused 2 'not valid JSON' submit '{"a": 1,}'
	refused 2 'not valid JSON' submit '{"a": 1} 2'
	refused 2 'the input has the same key twice in one object' submit '{"a": 1, "a": 2}'
	refused 2 'not valid JSON' submit 'hello'
	refused 2 'not valid UTF-8' submit "$(printf '"\377\376"')"
	refused 2 'not valid UTF-8' submit "$(printf '"\355\240\200"')"
	refused 2 'the input nests lists and objects 100000 levels deep; at most 64 are allowed' submit "$(printf '[%.0s' $(seq 100000))"
	unchanged 1
}

@test "unknown or ended parent, or an idempotency key with different contents, is refused" {
	id=$(submit '{"ms": 1}' --key k)
	[ "$(submit '{"ms": 1}' --key k)" = "$id" ]
	refused 2 "the key 'k' was used for execution $id" submit '{"ms": 2}' --key k
	refused 5 'execution 777, does not exist' submit '{"ms": 1}' --parent 777
	work
	refused 2 'has ended' submit '{"ms": 1}' --parent "$id"
	unchanged 1
}
