# cli_nested.bash - a workflow that uses most features, for tests of the views. Load after cli_common and cli_run.

# A retry, a fan-out, a nested workflow, a failure and a task skipped after it; the param "day" decides which task
# fails.
make_flow() {
	cat >"$dir/inner.flow.yaml" <<-'EOF'
		name: inner
		tasks:
		  one: {run: echo one}
		  two: {needs: one, run: echo two}
	EOF
	cat >"$dir/outer.flow.yaml" <<-'EOF'
		name: outer
		params: {day: {type: string, default: monday}}
		tasks:
		  first: {retry: {max: 2, delay: 1ms}, run: 'test "$PAWL_ATTEMPT" -ge 2 && echo "day=$day" >"$PAWL_OUTPUT"'}
		  each: {needs: first, foreach: [a, b, c], run: 'test "$ITEM" != b || test "$day" = tuesday'}
		  below: {needs: first, workflow: inner.flow.yaml}
		  after: {needs: each, run: echo after}
	EOF
}

# Runs the workflow to its end: $top is its id, $status the exit code.
run_nested() { # option...
	status=0
	p run "$dir/outer.flow.yaml" --progress none "$@" 2>/dev/null || status=$?
	top=$(p show @last --json | jq .id)
}
