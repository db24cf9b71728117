#!/usr/bin/env bats
# The documentation is true: its sessions are executed (docs/run describes their syntax), its examples are accepted by
# the program they are written for, and its links resolve. The tests create their own databases: TEST_NO_DB,
# TEST_LONG.

setup() {
	cd "$BATS_TEST_DIRNAME/.."
	pages=(README.md docs/*.md)
	blocks=$BATS_TEST_TMPDIR/blocks
}
teardown() { [ -z "${server:-}" ] || tests/pg_server stop "$server"; }

# All blocks of the pages: "PAGE LANGUAGE LINE FILE", one per line.
all_blocks() {
	local page number language line
	for page in "${pages[@]}"; do
		mkdir -p "$blocks/$page"
		awk -v dir="$blocks/$page" -f tests/docs/blocks.awk "$page" | while read -r number language line; do
			echo "$page $language $line $blocks/$page/$(printf %03d "$number").block"
		done
	done
}

play() { tests/docs/run "$@"; }

@test "sessions in README.md run as shown" { play README.md; }
@test "sessions in QUICKSTART.md run as shown" { play docs/QUICKSTART.md; }
@test "sessions in OPERATIONS.md run as shown" { play docs/OPERATIONS.md; }
@test "sessions in TROUBLESHOOTING.md run as shown" { play docs/TROUBLESHOOTING.md; }

@test "sessions in all other pages run as shown" {
	mapfile -t others < <(grep -l '^ *```console' "${pages[@]}" | grep -vE '^README.md$|/(QUICKSTART|OPERATIONS|TROUBLESHOOTING).md$')
	[ ${#others[@]} = 0 ] || play "${others[@]}"
}

@test "session with different output fails and names the page and line" {
	printf 'words\n\n```console\n$ echo one\nand two\n> echo three\none\ntwo\n```\n' >"$BATS_TEST_TMPDIR/wrong.md"
	run play "$BATS_TEST_TMPDIR/wrong.md"
	echo "$output"
	[ "$status" = 1 ]
	[[ $output == *'wrong.md:4: `echo one` prints something else'* ]]
	for text in '$ true\n$ false' '$ exit 3\n$ true' '$ echo 12\n1' '$ seq 3\n1\n…\n4' '$ echo 1.2\n1+2' '$ echo seen'; do
		printf '```console\n'"$text"'\n```\n' >"$BATS_TEST_TMPDIR/wrong.md"
		! play "$BATS_TEST_TMPDIR/wrong.md" || { echo "$text"; return 1; }
	done
	printf '```yaml\n# a.yaml\na: 1\n```\n\n```console\n$ cat a.yaml\n…\na: 1\n$ for i in 1 2\n> do echo $i; done\n1\n2\n$ date +%%T\n12:00:00\n```\n' \
		>"$BATS_TEST_TMPDIR/right.md"
	play "$BATS_TEST_TMPDIR/right.md"
}

# --- blocks -------------------------------------------------------------------------------------------

# Raise it only for a block that needs another host, root, or a program that is in no Debian package.
NOT_RUN=8

@test "every code block is tested or says why not, and the untested ones are counted" {
	all_blocks >"$BATS_TEST_TMPDIR/list"
	not_run=0
	while read -r page language line file; do
		case $language in
		console | yaml | c | sql) ;;
		nginx | haproxy) # a file that tests/test_server_proxy.py runs
			cmp "$file" packaging/"$language"-pawl.c* || { echo "$page:$line: is not the file in packaging/"; return 1; }
			;;
		sh)
			grep -q '^# not run by the tests: .' "$file" || { echo "$page:$line: does not say why it is not run"; return 1; }
			not_run=$((not_run + 1))
			;;
		text) # drawings and syntax; the syntax of commands is in docs/CLI.md, generated from the command table, and in the README
			forms='^(pawl|make|sqlite3|psql) [^=]'
			[ "$page" != docs/CLI.md ] && [ "$page" != README.md ] || forms='^$ '
			! grep -nE "^\\$ |$forms" "$file" ||
				{ echo "$page:$line: commands are written as a session, \`\`\`console"; return 1; }
			;;
		*)
			echo "$page:$line: what is \`\`\`$language?"
			return 1
			;;
		esac
	done <"$BATS_TEST_TMPDIR/list"
	echo "$not_run blocks are not run"
	[ "$not_run" = "$NOT_RUN" ]
}

@test "every YAML example is accepted as a workflow or configuration" {
	all_blocks | grep ' yaml ' >"$BATS_TEST_TMPDIR/list"
	export HOME=$BATS_TEST_TMPDIR
	unset PAWL_DB XDG_STATE_HOME XDG_CONFIG_HOME
	while read -r page language line file; do
		if grep -q '^tasks:' "$file"; then
			name=$(sed -n '1s/^# *\([A-Za-z0-9_.-]*\.yaml\)$/\1/p' "$file")
			cp "$file" "$(dirname "$file")/${name:=example.flow.yaml}"
			pawl validate "$(dirname "$file")/$name" || { echo "$page:$line"; return 1; }
		else
			pawl exec --config "$file" --db "sqlite:$BATS_TEST_TMPDIR/pawl.db" -- true || { echo "$page:$line"; return 1; }
		fi
	done <"$BATS_TEST_TMPDIR/list"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/list")" -ge 6 ]
}

# Whether a block is an excerpt of a file: the file has all its lines, with any indentation; "…" marks an omission.
is_excerpt() { # block file
	awk 'NR == FNR { gsub(/^[ \t]+|[ \t]+$/, ""); there[$0] = 1; next }
		{ gsub(/^[ \t]+|[ \t]+$/, "") } !/…/ && $0 != "" && !($0 in there) { bad = 1 } END { exit bad }' "$2" "$1"
}

@test "every C example compiles or is an excerpt from a file that does" {
	all_blocks | grep ' c ' >"$BATS_TEST_TMPDIR/list"
	while read -r page language line file; do
		for example in examples/*.c include/pawl.h; do
			! is_excerpt "$file" "$example" || continue 2
		done
		cp "$file" "$BATS_TEST_TMPDIR/example.c"
		cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-parameter -Wno-unused-function -Werror -Iinclude -fsyntax-only \
			"$BATS_TEST_TMPDIR/example.c" || { echo "$page:$line"; return 1; }
	done <"$BATS_TEST_TMPDIR/list"
	[ -s "$BATS_TEST_TMPDIR/list" ]
}

# Runs in an application's schema, with Pawl's schema next in the search path, and with a table, a role and a workflow
# of the application. Statements that only read also run on SQLite.
@test "every SQL example is accepted" {
	all_blocks | grep ' sql ' >"$BATS_TEST_TMPDIR/list" || skip 'there is none'
	server=$(mktemp -d "${TMPDIR:-/tmp}/pawl-docs.XXXXXX")
	url=$(tests/pg_server start "$server" $$)
	url=${url#*=}
	lite=sqlite:$BATS_TEST_TMPDIR/pawl.db
	printf 'name: ship-order\nparams: {order: {type: integer, required: true}}\ntasks: {ship: "true"}\n' >"$BATS_TEST_TMPDIR/ship.flow.yaml"
	pawl apply "$BATS_TEST_TMPDIR/ship.flow.yaml" --db "$url"
	pawl apply "$BATS_TEST_TMPDIR/ship.flow.yaml" --db "$lite"
	psql -q "$url" -c 'CREATE ROLE app' -c 'CREATE TABLE orders (id integer, state text)'
	while read -r page language line file; do
		{ echo 'SET search_path = public, pawl;'; cat "$file"; } | psql -q -v ON_ERROR_STOP=1 "$url" || { echo "$page:$line"; return 1; }
		grep -qvE '^(SELECT|  |$)' "$file" || sqlite3 -readonly -bail "${lite#sqlite:}" <"$file" || { echo "$page:$line, on SQLite"; return 1; }
	done <"$BATS_TEST_TMPDIR/list"
}

# A page without its blocks.
prose() { awk '/^ *```/ { block = !block; next } !block' "$1"; }

@test "every command and option named in the text exists" {
	named=0
	for page in "${pages[@]}"; do
		prose "$page" | tr '\n' ' ' | grep -oE '`pawl [a-z][^`]*`' | tr -d '`' | sort -u >"$BATS_TEST_TMPDIR/spans" || continue
		while read -r _ command rest; do
			named=$((named + 1))
			command=${command%%[^a-z]*}
			pawl help "$command" >"$BATS_TEST_TMPDIR/help" || { echo "$page: pawl $command $rest"; return 1; }
			for option in $(grep -oE '(^| )--[a-z-]+' <<<"${rest%% -- *}"); do
				grep -q -- "$option\b" "$BATS_TEST_TMPDIR/help" || { echo "$page: pawl $command $rest: no $option"; return 1; }
			done
		done <"$BATS_TEST_TMPDIR/spans"
	done
	[ "$named" -gt 100 ]
}

@test "every configuration key named in the text exists" {
	named=0
	while read -r key; do
		named=$((named + 1))
		key=$(sed 's/^executors\.[A-Za-z]*\.//' <<<"$key")
		grep -q "^| \`$key\` |" docs/CONFIGURATION.md || { echo "$key"; return 1; }
	done < <(for page in "${pages[@]}"; do prose "$page"; done |
		grep -oE '`(worker|queue|dispatch|executors\.[A-Za-z]+|functions|execution_events|logs)\.[a-z_.]+`' | grep -v '\.c`' | tr -d '`' | sort -u)
	[ "$named" -gt 15 ]
}

# --- links --------------------------------------------------------------------------------------------

# The anchors of a page, as GitHub derives them from its headings.
anchors() {
	awk '/^ *```/ { block = !block } !block && /^#+ / { sub(/^#+ +/, ""); print }' "$1" | tr '[:upper:]' '[:lower:]' |
		sed -e 's/\[\([^]]*\)\]([^)]*)/\1/g' -e 's/[^a-z0-9 _-]//g' -e 's/ /-/g'
}

@test "every internal link leads to a file, and every anchor to a heading" {
	links=0
	while read -r page; do
		while read -r link; do
			links=$((links + 1))
			file=${link%%#*}
			[ -n "$file" ] && file=$(dirname "$page")/$file || file=$page
			[ -e "$file" ] || { echo "$page: $link: there is no $file"; return 1; }
			[[ $link != *'#'* ]] || anchors "$file" | grep -qxF -- "${link#*#}" || { echo "$page: $link: no such heading"; return 1; }
		done < <(prose "$page" | sed 's/`[^`]*`//g' | grep -oE '\]\([^)]+\)' |
			sed -e 's/^](//' -e 's/)$//' | grep -vE '^https?://')
	done < <(git ls-files '*.md' 2>/dev/null || find . -name '*.md' -not -path './build/*')
	[ "$links" -gt 50 ]
}

# --- promises -----------------------------------------------------------------------------------------

@test "every test and model named in GUARANTEES.md exists" {
	named=0
	while IFS=/ read -r file name; do
		named=$((named + 1))
		case $file in
		test_server_*) grep -qx "def $name():" "tests/$file.py" ;;
		test_*) grep -Eq "^TEST[A-Z_]*\($name[,)]" "tests/$file.c" ;;
		*.bats) grep -qF "@test \"$name\"" "tests/$file" ;;
		*.pml) grep -qwF "$name" "models/$file" ;;
		verify) grep -q "\b$name\b" src/store/verify/*.c src/store/sql/verify*.sql ;;
		*) false ;;
		esac || { echo "there is no $file/$name"; return 1; }
	done < <(grep -oE '`[a-z_]+(\.bats|\.pml)?/[^`]+`' docs/GUARANTEES.md | tr -d '`')
	[ "$named" -gt 40 ]
	# and every guarantee names a test or model
	! grep -nE '^\| \*\*' docs/GUARANTEES.md | grep -vE '`[a-z_]+(\.bats|\.pml)?/[^`]+`'
}

@test "figures in the README match BENCHMARKS.md" {
	figures=0
	while read -r figure; do
		figures=$((figures + 1))
		grep -qF -- "$figure" docs/BENCHMARKS.md || { echo "BENCHMARKS.md does not have: $figure"; return 1; }
	done < <(sed -n '/^## How fast/,/^## /p' README.md | grep '^|' | tail -n +3 | awk -F' *[|] *' '{ print $3; print $4 }')
	[ "$figures" -gt 10 ]
}

tables() { # made from the lines of a file
	awk -f bench/figures.awk -f bench/table_graphile.awk -f bench/table.awk -f bench/table_flow.awk -v rounds=1 -v whole=yes -v pg_version=15 \
		-v sqlite_version=3 -v cores=2 "$1"
}

@test "benchmark tables without any measurement say which peers could not be installed" {
	tables /dev/null >"$BATS_TEST_TMPDIR/tables"
	[ "$(grep -c '^|---' "$BATS_TEST_TMPDIR/tables")" -gt 8 ]
	[ "$(grep -c 'could not be installed here: no comparison' "$BATS_TEST_TMPDIR/tables")" = 3 ]
}

@test "benchmark peer that was measured gets a row with ratios from the same round" {
	for round in 1 2 3; do # everything is three times as slow in the second round
		[ $round = 2 ] && slow=3 || slow=1
		for slots in 1 10; do
			printf '{"what":"make","slots":%d,"seconds":%d}\n{"what":"xargs","slots":%d,"seconds":%d}\n' \
				$slots $((2 * slow)) $slots $((2 * slow))
			for db in sqlite postgres; do
				printf '{"db":"%s","what":"exec","jobs":400,"slots":%d,"seconds":%d}\n' $db $slots $((4 * slow))
				printf '{"db":"%s","what":"flow","shape":"shell","n":400,"jobs":400,"slots":%d,"seconds":%d}\n' \
					$db $slots $((5 * slow))
			done
			for shell in direct sh; do
				printf '{"peer":"dagu","version":"1.2.3","jobs":400,"slots":%d,"shell":"%s","seconds":%d}\n' \
					$slots $shell $((20 * slow))
			done
		done
		printf '{"db":"postgres","beside":"graphile","what":"%s","connections":3,"batch":500,"lives_per_s":%d}\n' \
			lives $((6000 / slow)) push $((9000 / slow))
		for variant in apart together tuned; do
			printf '{"db":"postgres","variant":"%s","peer":"graphile-worker","version":"7.8.9","lives_per_s":%d}\n' \
				$variant $((3000 / slow))
		done
		printf '{"what":"start","of":"hello_%s","p50_us":%d,"p90_us":1}\n' sqlite $((1000 * slow)) dagu $((3000 * slow))
		printf '{"db":"postgres","what":"flow","shape":"steps","n":9,"jobs":45,"workflows_per_s":%d}\n' $((600 / slow))
		for peer in dbos openworkflow; do
			printf '{"db":"postgres","variant":"%s","peer":"'$peer'","version":"4.5.6","workflows_per_s":%d,"settings":{"pool":%d}}\n' \
				alike $((30 / slow)) 2 tuned $((60 / slow)) 20
		done
	done >"$BATS_TEST_TMPDIR/lines"
	tables "$BATS_TEST_TMPDIR/lines" | tee "$BATS_TEST_TMPDIR/tables"
	has() { grep -qF -- "$1" "$BATS_TEST_TMPDIR/tables"; }
	has '| Dagu 1.2.3 | 20.00 s (20.00–60.00) | 10.00 (10.00–10.00) | 20.00 s (20.00–60.00) | 10.00 (10.00–10.00) | |'
	has 'Dagu takes 5.00 (5.00–5.00) times as long as Pawl on SQLite one after another, 5.00 (5.00–5.00) times 10 at a time;'
	has '| Dagu 1.2.3, hello world | 3.00 ms (3.00–9.00) |'
	has 'Dagu takes 3.00 (3.00–3.00) times as long for hello world'
	has '| Dagu 1.2.3 | 20.00 s (20.00–60.00) | 10.00 (10.00–10.00) | | 20.00 s (20.00–60.00) | 10.00 (10.00–10.00) |'
	has 'Dagu takes 4.00 (4.00–4.00) times as long for the chain as Pawl on SQLite, 4.00 (4.00–4.00) times 10 at a time;'
	has '| the same through the queue | 6.0 k (2.0 k–6.0 k) | | |'
	has '| 3.0 k (1.0 k–3.0 k) | 3.00 (3.00–3.00) times that | 2.00 (2.00–2.00) times that |'
	for peer in DBOS OpenWorkflow; do
		has "| $peer 4.5.6, 2 connections, as many as the engine has | 30.00 (10.00–30.00) | 20.00 (20.00–20.00) times that |"
		has "| $peer at its best, 20 connections | 60.00 (20.00–60.00) | 10.00 (10.00–10.00) times that |"
	done
	! grep -q 'could not be installed' "$BATS_TEST_TMPDIR/tables"
}

@test "benchmark peers are pinned, and BENCHMARKS.md names their versions" {
	peers=0
	while read -r name version; do
		case $name in
		graphile-worker) name='Graphile Worker' ;;
		@dbos-inc/dbos-sdk) name=DBOS ;;
		openworkflow) name=OpenWorkflow ;;
		@dagu-org/*) name=Dagu ;;
		*) continue ;;
		esac
		peers=$((peers + 1))
		grep -q "$name ($version\b" docs/BENCHMARKS.md || { echo "BENCHMARKS.md does not name $name ($version)"; return 1; }
	done < <(jq -r '.packages[""].dependencies | to_entries[] | .key + " " + .value' bench/peers{,/dagu}/package-lock.json)
	[ "$peers" = 4 ]
	for at in bench/peers bench/peers/dagu; do
		jq -e --slurpfile lock $at/package-lock.json '.dependencies == $lock[0].packages[""].dependencies' $at/package.json
		jq -e '[.packages[] | .resolved // empty] == []' $at/package-lock.json # any registry that npm is configured for
	done
}
