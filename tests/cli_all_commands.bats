#!/usr/bin/env bats
# Every command of the command table: its main path in text and in JSON, and its error messages. A new command without
# a line in cli_all_commands.bash, or without a test of its own, fails here. TEST_LONG

load cli_common
load cli_run
load cli_all_commands

# `pawl serve` runs until it is stopped: tests/test_server_*.py and cli_serve.bats run it.
commands() { pawl help | grep -v '^  serve ' | sed -n '/^usage/,/^`pawl help/s/^  \([a-z]\+\) .*/\1/p'; }
usage() { pawl help "$1" | sed -n '1,/^$/s/^\(usage:\|      \) pawl //p'; }

@test "every command is run by this file and by at least one other test" {
	[ "$(commands | wc -l)" -ge 30 ]
	for c in $(commands); do
		every | grep -q "^$c\b" || { echo "$c has no line in tests/cli_all_commands.bash"; false; }
		grep -lE "(\bp|\bpawl)( --[a-z]+ [^ ]+)* $c\b" "$BATS_TEST_DIRNAME"/*.bats | grep -qv cli_all_commands ||
			{ echo "$c has no test of its own"; false; }
	done
}

# Each form runs against a fresh database: most commands can make their change only once.
in_one_form() { # json words...
	local json=$1
	shift
	p $json "$@" >"$dir/out" 2>"$dir/err" </dev/null || { cat "$dir/out" "$dir/err"; return 1; }
	LC_ALL=C without "$(printf '\033')" <"$dir/out"
	if [ -n "$json" ]; then
		jq -c . "$dir/out" >/dev/null || { cat "$dir/out"; return 1; }
		[ -s "$dir/out" ] || [ "$1" = workers ] || [ "$1" = submissions ] # both lists are empty
		[ ! -s "$dir/err" ] || [ "$1" = exec ] || { cat "$dir/err"; return 1; } # the output of the job
	fi
}
as_text() { in_one_form '' "${@:2}"; }

@test "every command prints its result as text" {
	walk as_text
	p verify
}

@test "every command that prints data can print it as JSON" {
	walk in_one_form
	p verify
}

@test "command that prints no data offers no --json in help, completion or parser" {
	n=0
	for c in $(every | sed -n 's/ .*#$//p' | sort -u); do
		refused 2 "pawl $c has no option '--json': \`pawl help $c\` lists its options" p "$c" --json
		refused 2 "pawl $c has no option '--json'" p --json "$c"
		pawl help "$c" | without '--json'
		pawl complete -- "$c" -- | without '--json'
		n=$((n + 1))
	done
	[ $n -ge 6 ]
	for c in $(every | sed '/#$/d; s/ .*//' | sort -u); do
		pawl help "$c" | grep -q -- '--json'
		pawl complete -- "$c" -- | grep -q -- '--json'
	done
}

@test "every command refuses an unknown argument or option" {
	for c in $(commands); do
		refused 2 "pawl $c has no option '--frobnicate': \`pawl help $c\` lists its options" p "$c" --frobnicate
		refused 2 '--db needs a value' pawl "$c" --db
		case $(usage "$c") in
		*…\ *' '[A-Z]*… | *'-- '* | *'ID…'* | *'FILE…'* | *'WORKER…'*) ;; # accepts any number of words
		*) refused 2 "pawl $c " p "$c" 1 2 3 4 5 ;;
		esac
	done
}

@test "every command that requires arguments reports a missing argument" {
	for c in $(commands); do
		case $(usage "$c" | head -n 1) in
		"$c"\ [A-Z]* | "$c"\ [a-z]*\|*) refused 2 "pawl help $c" p "$c" ;;
		esac
	done
}

@test "every command that takes an id reports an unknown id" {
	n=0
	for c in $(commands); do
		[[ $(usage "$c") == "$c "*ID* && $c != graph ]] || continue
		ids=(12345) words=(x)
		[[ $(usage "$c") != "$c ID ID"* ]] || ids+=(12345) words+=(x)
		refused 5 'there is no execution 12345: `pawl ls` lists the executions' p "$c" "${ids[@]}"
		refused 2 "'x' is not an id" p "$c" "${words[@]}"
		n=$((n + 1))
	done
	[ $n -ge 12 ]
	p verify
}

@test "every command that needs a database reports an unreachable database" {
	fill_database
	away=postgres://postgres@127.0.0.1:1/postgres
	none=sqlite:$dir/none/pawl.db
	n=0
	while read -r line <&4; do
		case $line in
		init* | trust* | validate* | 'graph FLOW'* | schema* | completion* | complete* | help*) continue ;;
		esac
		eval "words=($(sed -E 's/(RUN|OPEN|GOOD|BAD|ASKED.|LATE)/1/' <<<"${line%#}" | fill_in))"
		case $line in
		'exec -- '*) words=(exec -- true) ;;
		esac
		refused 6 "$dir/none" pawl --db "$none" "${words[@]}"
		case " ${words[*]} " in
		*' --detach '* | ' ls '* | ' run '* | ' worker '* | ' admin migrate '* | ' cancel '* | ' top '*)
			refused 6 '127.0.0.1' pawl --db "$away" "${words[@]}"
			;;
		esac
		n=$((n + 1))
	done 4< <(every)
	[ $n -ge 30 ]
	[ ! -e "$dir/none" ]
}
