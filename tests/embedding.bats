#!/usr/bin/env bats
# Pawl in programs of others: examples/embed.c with SQLite, examples/pg_submit.c with PostgreSQL.

load cli_common
load cli_run

setup() {
	examples=$PAWL_TEST_BUILD/examples
	dir=$BATS_TEST_TMPDIR
	make_state
	cd "$dir"
}

teardown() {
	end_all
	[ -z "${shop:-}" ] || psql -q "$PAWL_TEST_PG_URL" -c "DROP DATABASE $shop WITH (FORCE)"
}

# ---- PostgreSQL ----------------------------------------------------------------------------------------

# A database of the program's own, in which Pawl has its schema.
make_shop() {
	[ "$PAWL_TEST_DB" = postgres ] || skip 'for PostgreSQL only'
	shop=shop_$$_$BATS_TEST_NUMBER
	psql -q "$PAWL_TEST_PG_URL" -c "CREATE DATABASE $shop"
	db=${PAWL_TEST_PG_URL%/*}/$shop
	cat >ship.flow.yaml <<-EOF
		name: ship
		params: {order: {type: integer, required: true}}
		tasks: {pack: {run: 'echo "\$order" >>$dir/packed; : $mark'}}
	EOF
	pawl --db "$db" apply ship.flow.yaml
}

@test "pg_submit: an order and its workflow are one transaction" {
	make_shop
	[ "$("$examples/pg_submit" "$db" ship 17)" = "order 17: execution 1" ]
	pawl --db "$db" worker --drain
	[ "$("$examples/pg_submit" "$db" --wait 17)" = "order 17: succeeded" ]
	[ "$(cat packed)" = 17 ]
	pawl --db "$db" verify
}

@test "pg_submit: what is rolled back leaves nothing" {
	make_shop
	[ "$("$examples/pg_submit" "$db" ship 17 --rollback)" = "order 17: rolled back" ]
	[ "$(psql -qAt "$db" -c 'SELECT count(*) FROM orders')" = 0 ]
	[ -z "$(pawl --db "$db" submissions --json)" ]
	pawl --db "$db" worker --drain
	[ ! -e packed ]
	pawl --db "$db" verify
}

@test "pg_submit: what can't be submitted is not ordered either" {
	make_shop
	run "$examples/pg_submit" "$db" shop 17
	[ "$status" = 1 ]
	[[ $output == *"no workflow is applied under the name 'shop'"* ]]
	run "$examples/pg_submit" "$db" ship null
	[[ $output == *'invalid input syntax'* ]]
	[ "$(psql -qAt "$db" -c 'SELECT count(*) FROM orders')" = 0 ]
}
