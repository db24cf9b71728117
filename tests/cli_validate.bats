#!/usr/bin/env bats
# Workflow files on the command line: pawl validate, graph and schema. They need no database: TEST_NO_DB.

load cli_common

setup() {
	dir=$(mktemp -d "${TMPDIR:-/tmp}/pawl-cli.XXXXXX")
	examples=$BATS_TEST_DIRNAME/../examples
	cd "$dir"
	unset PAWL_DB
	export HOME=$dir XDG_STATE_HOME=$dir/state
}
teardown() { rm -rf "$dir"; }

wrong() { printf 'tasks:\n  a: {rnu: x}\n  b: {run: x, needs: aa}\n' >wrong.flow.yaml; }

@test "examples are valid, and validate creates nothing" {
	run pawl validate "$examples"/*.flow.yaml
	[ "$status" = 0 ]
	[ "${#lines[@]}" = "$(ls "$examples"/*.flow.yaml | wc -l)" ]
	[[ $output == *'/nested.flow.yaml: nested, 4 tasks, 1 nested'* ]]
	[[ $output == *'/hello.flow.yaml: hello, 1 task'$'\n'* ]]
	[ -z "$(ls -A "$dir")" ]
	printf 'tasks: [x]\non: {schedule: ["@daily", "@hourly"]}\n' >f.flow.yaml
	[ "$(pawl validate f.flow.yaml)" = 'f.flow.yaml: f, 1 task, 2 schedules' ]
}

@test "every error in a file is printed on stderr with its line and a caret" {
	wrong
	status=0
	pawl validate wrong.flow.yaml >out 2>err || status=$?
	[ "$status" = 2 ]
	[ ! -s out ]
	same 'wrong.flow.yaml:2:3: tasks.a has nothing to run: exactly one of run, argv, function and workflow is required
     2 |   a: {rnu: x}
       |   ^
wrong.flow.yaml:2:7: there is no key "rnu" in tasks.a; did you mean "run"?
     2 |   a: {rnu: x}
       |       ^
wrong.flow.yaml:3:22: tasks.b.needs: there is no task "aa"; did you mean "a"?
     3 |   b: {run: x, needs: aa}
       |                      ^' "$(cat err)"
}

@test "validate --json prints one object per error" {
	wrong
	printf 'tasks: [x]\n' >good.flow.yaml
	status=0
	pawl validate --json wrong.flow.yaml good.flow.yaml >out 2>err || status=$?
	[ "$status" = 2 ]
	[ ! -s err ]
	same '{"file":"wrong.flow.yaml","line":2,"column":3,"problem":"tasks.a has nothing to run: exactly one of run, argv, function and workflow is required"}
{"file":"wrong.flow.yaml","line":2,"column":7,"problem":"there is no key \"rnu\" in tasks.a; did you mean \"run\"?"}
{"file":"wrong.flow.yaml","line":3,"column":22,"problem":"tasks.b.needs: there is no task \"aa\"; did you mean \"a\"?"}
{"file":"good.flow.yaml","name":"good","hash":H,"tasks":1,"nested":0,"schedules":0,"warnings":[]}' \
		"$(sed -E 's/"hash":"[0-9a-f]{32}"/"hash":H/' out)"
}

@test "nested file is named relative to the current folder" {
	mkdir sub
	printf 'tasks: {a: {workflow: child.yaml}}\n' >sub/top.flow.yaml
	printf 'tasks: {a: {run: x, timeout: 5}}\n' >sub/child.yaml
	run pawl validate sub/top.flow.yaml
	[ "$status" = 2 ]
	[[ $output == 'sub/child.yaml:1:30: tasks.a.timeout: a duration'* ]]
}

@test "missing, too long or binary file is refused" {
	refused 5 'none.yaml' pawl validate none.yaml
	refused 2 'needs more arguments' pawl validate
	refused 2 "has no option '--frobnicate'" pawl validate --frobnicate x.yaml
	refused 5 'none.yaml' pawl graph none.yaml
	head -c 9000000 /dev/zero | tr '\0' '#' >large.yaml
	refused 2 'longer than 8 MB' pawl validate large.yaml
	wrong
	run pawl validate none.yaml wrong.flow.yaml # the exit code of a wrong file wins over that of a missing one
	[ "$status" = 2 ]
	head -c 1000 /dev/urandom >random.yaml
	run pawl validate random.yaml
	[ "$status" = 2 ]
}

@test "control characters in a file are not printed" {
	printf 'tasks: {a: {"\\e[31mred": x}}\n# \033[31m\n' >f.flow.yaml
	run pawl validate f.flow.yaml
	[ "$status" = 2 ]
	without "$(printf '\033')" <<<"$output"
}

@test "graph is drawn as text, for Graphviz and for Mermaid" {
	run pawl graph "$examples/diamond.flow.yaml"
	[ "$status" = 0 ]
	same 'diamond: 4 tasks
  *    fetch
  +-*  clean
  * |  count
  *-'"'"'  report' "$output"
	same "$output" "$(pawl graph --format ascii "$examples/diamond.flow.yaml")"
	[[ $(pawl graph --format dot "$examples/diamond.flow.yaml") == 'digraph "diamond" {'*'t2 -> t3;'* ]]
	[[ $(pawl graph --format mermaid "$examples/diamond.flow.yaml") == 'flowchart TD'*'t2 --> t3'* ]]
	refused 2 "'png' is not a graph format" pawl graph --format png "$examples/diamond.flow.yaml"
}

@test "graph --format svg needs no other program and prints well-formed SVG that refers to no other file" {
	mkdir bin
	pawl=$(command -v pawl)
	for file in "$examples"/*.flow.yaml; do
		PATH=$dir/bin "$pawl" graph --format svg "$file" >graph.svg
		python3 - graph.svg <<-'END'
			import sys, xml.etree.ElementTree as tree
			svg = '{http://www.w3.org/2000/svg}'
			root = tree.parse(sys.argv[1]).getroot()
			assert root.tag == svg + 'svg'
			assert {e.tag.removeprefix(svg) for e in root.iter()} == {
			    'svg', 'title', 'desc', 'style', 'rect', 'text', 'g', 'path'}
			assert not [a for e in root.iter() for a in e.attrib if 'href' in a or a.startswith('on')]
		END
		without 'url(' <graph.svg
	done
	same "$(pawl graph --format svg "$examples/nested.flow.yaml")" "$(pawl graph --format svg "$examples/nested.flow.yaml")"
}

@test "graph --format json has the positions of tasks and the points of edges" {
	pawl graph --format json "$examples/diamond.flow.yaml" >graph.json
	[ "$(wc -l <graph.json)" = 1 ]
	same '"diamond" null null' "$(jq -c '.name, .status, .folded' graph.json | paste -sd' ')"
	same 'fetch command,clean command,count command,report command' "$(jq -r '.nodes | map("\(.name) \(.kind)") | join(",")' graph.json)"
	same 't0 t1,t0 t2,t1 t3,t2 t3' "$(jq -r '.edges | map("\(.from) \(.to)") | join(",")' graph.json)"
	# every edge leads from the bottom of one box to the top of the other
	same true "$(jq '(.nodes | INDEX(.id)) as $n | [.edges[] | $n[.from] as $a | $n[.to] as $b |
		.points[0] == [$a.x + $a.w / 2, $a.y + $a.h] and .points[-1] == [$b.x + $b.w / 2, $b.y]] | all' graph.json)"
	same true "$(jq '. as $g | [.nodes[] | .x >= 0 and .y >= 0 and .x + .w <= $g.width and .y + .h <= $g.height] | all' graph.json)"
}

@test "graph of an invalid file prints the errors" {
	wrong
	status=0
	pawl graph wrong.flow.yaml >out 2>err || status=$?
	[ "$status" = 2 ]
	[ ! -s out ]
	[[ $(cat err) == *'did you mean "run"'* ]]
}

@test "schema prints a JSON schema on one line" {
	pawl schema >schema.json
	[ "$(wc -l <schema.json)" = 1 ]
	[[ $(cat schema.json) == '{"$schema":"http://json-schema.org/draft-07/schema#",'*'}' ]]
}
