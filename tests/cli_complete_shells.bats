#!/usr/bin/env bats
# Completion in a real zsh in a terminal, and in a real fish. cli_complete.bats tests which words are offered where;
# this file tests that these shells understand the answer.

load cli_common
load cli_run

setup() {
	make_database
	make_state
	cat >"$dir/two.flow.yaml" <<-'END'
		name: two
		tasks: {first: {run: "true"}, second: {needs: first, run: "true"}}
	END
	cd "$dir"
	mkdir x.d
	touch x.flow.yaml
}
teardown() {
	tmux -L "$tenant" kill-server 2>/dev/null || true
	end_all
	remove_database
}

needs() { command -v "$1" >/dev/null || skip "there is no $1"; }

# The words that fish offers at the end of a line, on one line, without and with their descriptions.
described() { # line
	HOME=$dir fish --no-config -c 'pawl completion fish | source; complete -C "$argv[1]"' -- "$1"
}
offered() { described "$1" | cut -f 1 | tr '\n' ' ' | sed 's/ $//'; }

@test "fish offers commands, options and their values" {
	needs fish
	same 'schedule schema' "$(offered 'pawl sche')"
	[[ $(described 'pawl sche') == *$'schema\tprint the JSON Schema'* ]]
	same '--dry-run --db' "$(offered 'pawl rerun 1 --d')"
	same 'succeeded skipped' "$(offered 'pawl ls --status s')"
	same '--status=failed' "$(offered 'pawl ls --status=f')"
	same 'ascii dot mermaid svg json' "$(offered 'pawl graph x --format ')"
	same '' "$(offered 'pawl nosuch ')"
}

@test "fish offers files, folders and programs" {
	needs fish
	same 'x.d/ x.flow.yaml' "$(offered 'pawl run x')"
	same 'x.d/' "$(offered 'pawl exec --cwd x')"
	[[ " $(offered 'pawl exec -- mkdi') " == *' mkdir '* ]]
	same 'x.flow.yaml' "$(offered 'pawl exec -- cat x.fl')"
}

@test "fish offers ids, newest first, and tasks" {
	needs fish
	export PAWL_DB=$db PAWL_TENANT=$tenant
	p exec -- true
	p run two.flow.yaml
	id=$(p ls --limit 1 --json | jq .id)
	same "@last $id 1" "$(offered 'pawl show ')"
	[[ $(described 'pawl show ') == *"$id"$'\ttwo, succeeded'* ]]
	same 'first second' "$(offered "pawl rerun $id --from ")"
	same 'second' "$(offered 'pawl rerun @last --from s')"
}

# ---- zsh completes only in a terminal ----

start_zsh() {
	tmux="tmux -L $tenant -f /dev/null"
	$tmux new-session -d -x 100 -y 30 \
		"PATH=$PATH HOME=$dir PAWL_DB=$db PAWL_TENANT=$tenant PS1='> ' zsh -f -i # $mark"
	$tmux send-keys -l 'autoload -Uz compinit; compinit -D -u; source <(pawl completion zsh); echo ready'
	$tmux send-keys Enter
	until_true shows '^ready'
}

types() { # types on a new line
	$tmux send-keys C-u C-l && $tmux send-keys -l "$1" && $tmux send-keys Tab
}
shows() { $tmux capture-pane -p | grep -qE -- "$1"; }
becomes() { # typed, completed
	types "$1"
	until_true shows "^> $2 *\$" || {
		$tmux capture-pane -p
		return 1
	}
}

@test "zsh completes commands, options and their values" {
	needs zsh
	start_zsh
	becomes 'pawl worke' 'pawl worker'
	types 'pawl sche'
	until_true shows '^schedule  -- show schedules and when'
	shows '^schema  -- print the JSON Schema'
	becomes 'pawl rerun 1 --dr' 'pawl rerun 1 --dry-run'
	becomes 'pawl ls --status=f' 'pawl ls --status=failed'
	becomes 'pawl ls --status ready,ru' 'pawl ls --status ready,running'
	types 'pawl graph x --format '
	until_true shows '^mermaid *$' # without a description
	$tmux kill-server
}

@test "zsh completes files, folders and programs" {
	needs zsh
	start_zsh
	becomes 'pawl run x.f' 'pawl run x\.flow\.yaml'
	becomes 'pawl exec --cwd x' 'pawl exec --cwd x\.d/'
	becomes 'pawl exec -- mkdi' 'pawl exec -- mkdir'
	becomes 'pawl exec -- cat x.fl' 'pawl exec -- cat x\.flow\.yaml'
	$tmux kill-server
}

@test "zsh completes ids, newest first, and tasks" {
	needs zsh
	p exec -- true
	p run two.flow.yaml
	id=$(p ls --limit 1 --json | jq .id)
	start_zsh
	becomes 'pawl show @' 'pawl show @last'
	becomes "pawl rerun $id --from se" "pawl rerun $id --from second"
	types 'pawl show '
	until_true shows '^@last  -- '
	same "@last $id 1" "$($tmux capture-pane -p | sed -n 's/^\([@0-9a-z]*\)  -- .*/\1/p' | tr '\n' ' ' | sed 's/ $//')"
	$tmux kill-server
}

# As `make install` leaves it: a function file in a folder on zsh's search path.
@test "zsh loads the completion script from its function path" {
	needs zsh
	mkdir functions
	pawl completion zsh >functions/_pawl
	tmux="tmux -L $tenant -f /dev/null"
	$tmux new-session -d -x 100 -y 30 "PATH=$PATH HOME=$dir PS1='> ' zsh -f -i # $mark"
	$tmux send-keys -l 'fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -D -u; echo ready'
	$tmux send-keys Enter
	until_true shows '^ready'
	becomes 'pawl rerun 1 --dr' 'pawl rerun 1 --dry-run'
	becomes 'pawl ls --status=f' 'pawl ls --status=failed'
	$tmux kill-server
}
