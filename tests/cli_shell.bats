#!/usr/bin/env bats
# The shell of a task: a line that fails ends the script, unless the shell says otherwise.

load cli_common
load cli_run

x() { # command...
	status=0
	p "$@" >"$dir/stdout" 2>"$dir/stderr" || status=$?
	output=$(cat "$dir/stdout")
}

write_workflow() {
	cat >"$dir/shell.flow.yaml"
}

@test "with the default shell, a failing line ends the script and fails the task" {
	write_workflow <<-'EOF'
		name: shell
		tasks:
		  line:
		    run: |
		      echo before
		      false
		      echo after
	EOF
	x run "$dir/shell.flow.yaml"
	[ "$status" = 1 ]
	[[ $(cat "$dir/stderr") == *"line failed: exited with code 1"* ]]
	x logs 2
	[ "$status" = 0 ]
	[[ $output == *before* ]]
	[[ $output != *after* ]]
}

@test "shell key can set pipefail or another interpreter" {
	write_workflow <<-'EOF'
		name: shell
		defaults: {shell: bash -euo pipefail}
		tasks:
		  pipe: {run: "false | true\necho after", allow_failure: true}
		  plain: {run: "false | true\necho after", shell: sh -e}
		  ignored: {run: "false\necho after", shell: [sh]}
		  awk: {run: "BEGIN { print 6 * 7 }", shell: "awk {}"}
	EOF
	x run "$dir/shell.flow.yaml"
	[ "$status" = 0 ]
	[[ $output == *"shell::pipe: exited with code 1"* ]]
	[[ $output == *"completed"*"shell::plain"* ]]
	[[ $output == *"completed"*"shell::ignored"* ]]
	[[ $output == *"completed"*"shell::awk"* ]]
	x schema
	[ "$status" = 0 ]
	[[ $output == *'"shell":{"anyOf":['* ]]
}

@test "shell command of pawl exec continues after a failing command" {
	x exec -- sh -c 'false; echo after'
	[ "$status" = 0 ]
	[[ $output == *after* ]]
}
