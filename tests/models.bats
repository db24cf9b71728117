#!/usr/bin/env bats
# The protocols hold in every state that a model can reach, each rule is needed, and models/run would notice a change
# of either. No database, no build: TEST_NO_DB, TEST_LONG.

setup() {
	cd "$BATS_TEST_DIRNAME/.."
	export TMPDIR=$BATS_TEST_TMPDIR
	unset CC
	[[ $PAWL_TEST_BUILD != */asan ]] || skip 'nothing here is built with a sanitizer'
}

check() { # model
	local full=
	[ -z "${PAWL_TEST_FULL:-}" ] || full=--full
	run models/run $full "$1"
	echo "$output"
	[ "$status" != 77 ] || skip "$output"
	[ "$status" = 0 ]
	[[ ${lines[-1]} == *' searches, 0 wrong, '* ]]
	[ -z "$(ls -A "$BATS_TEST_TMPDIR" | grep pawl-models)" ]
}

# Copies the models, so that a test can break them.
copy_models() {
	command -v spin >/dev/null && command -v cc >/dev/null || skip 'spin or cc is missing'
	mkdir -p "$BATS_TEST_TMPDIR/src"
	cp -R models "$BATS_TEST_TMPDIR"
	cp -R src/core "$BATS_TEST_TMPDIR/src"
	cd "$BATS_TEST_TMPDIR"
}

@test "model of a job on one host ends the job once, with one child and no stale signal" {
	check lease
}

@test "model of a job started on another host finds the first host's process dead" {
	check hosts
}

@test "model of siblings that end simultaneously fires their join once without a deadlock" {
	check join
}

@test "limit model: running jobs never exceed the limit, and no waiting job is stranded" {
	check permits
}

@test "model detects a transition missing from the engine's table" {
	copy_models
	sed -i '/MOVE(ADOPTED, RUNNING, RUNNING, JOBS)/d' src/core/transitions.c
	run models/run lease:PAUSES=1
	[ "$status" = 1 ]
	[[ ${lines[0]} == lease*'WRONG: must be ok, is violated: '* ]]
}

@test "models/run fails if a rule is not needed or if its loss violates a property other than the stated one" {
	copy_models
	sed -i 's/CHECK -DSHIM_TAKES_ANY_EPOCH : no_stale_signal/CHECK -DNO_SUCH_RULE -DCRASHES=0 -DKILLS=0 -DPAUSES=1 : no_stale_signal/
		s/CHECK -DLOST_IS_A_SUCCESS : clean_success/CHECK -DLOST_IS_A_SUCCESS -DCRASHES=0 -DPAUSES=0 : one_child/' \
		models/lease.pml
	run models/run lease:NO_SUCH_RULE lease:LOST_IS_A_SUCCESS
	[ "$status" = 1 ]
	[[ ${lines[0]} == *'LOST_IS_A_SUCCESS'*'WRONG: must be one_child, is ok' ]]
	[[ $output == *'NO_SUCH_RULE'*'WRONG: must be no_stale_signal, is ok'* ]]
	[[ ${lines[-1]} == '2 searches, 2 wrong, '* ]]
}

@test "models/run without spin checks nothing and says so" {
	mkdir "$BATS_TEST_TMPDIR/bin"
	for program in bash dirname nproc; do
		ln -s "$(command -v $program)" "$BATS_TEST_TMPDIR/bin"
	done
	PATH=$BATS_TEST_TMPDIR/bin run "$(command -v bash)" models/run lease
	[ "$status" = 77 ]
	[[ $output == *'spin is missing, so nothing was checked'* ]]
}
