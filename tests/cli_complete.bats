#!/usr/bin/env bats
# Completion: the words that a real bash offers with the script that `pawl completion bash` prints.

load cli_common
load cli_run

setup() {
	make_database
	make_state
}
teardown() {
	tmux -L "$tenant" kill-server 2>/dev/null || true
	end_all
	remove_database
}

# The words that bash offers at the end of a line, on one line. readline passes the text after its last word break.
offered() { # line
	bash --norc -c 'source <(pawl completion bash)
		COMP_LINE=$1 COMP_POINT=${#1}
		word=${1##* }
		_pawl pawl "${word##*=}"
		printf "%s\n" "${COMPREPLY[@]}"' -- "$1" | tr '\n' ' ' | sed 's/ $//'
}

@test "completion script is registered for pawl in bash" {
	[[ $(bash --norc -c 'source <(pawl completion bash); complete -p pawl') == *'-F _pawl pawl' ]]
}

@test "commands are completed, except those that only programs call" {
	same 'schedule schema' "$(offered 'pawl sche')"
	same '' "$(offered 'pawl complete-')"
	[[ " $(offered 'pawl ') " == *' worker serve exec run '* ]]
	[[ " $(offered 'pawl ') " != *' complete '* ]]
	same '' "$(offered 'pawl nosuch ')"
	same 'queue' "$(offered 'pawl help qu')"
}

@test "options of the command and the common options are completed" {
	same '--dry-run --db' "$(offered 'pawl rerun 1 --d')"
	same '--tenant' "$(offered 'pawl --ten')"
	[[ " $(offered 'pawl exec -') " == *' --detach '*' --json '* ]]
}

@test "option values are completed, even after an equals sign or a comma" {
	same 'succeeded skipped' "$(offered 'pawl ls --status s')"
	same 'failed' "$(offered 'pawl ls --status=f')"
	same 'ready,running ready,ready' "$(offered 'pawl ls --status ready,r' | tr ' ' '\n' | sort -r | tr '\n' ' ' | sed 's/ $//')"
	same 'ascii dot mermaid svg json' "$(offered 'pawl graph x --format ')"
	same 'read,submit' "$(offered 'pawl admin token create x --scope read,su')"
}

@test "arguments of a command are completed where they are allowed" {
	same 'ls next pause resume run' "$(offered 'pawl schedule ')"
	same 'ls show versions rm' "$(offered 'pawl workflow ')"
	same 'create drop list' "$(offered 'pawl admin tenant ')"
	same 'migrate tenant token hook retention routes cleanup-events fence' "$(offered 'pawl admin ')"
	same 'create list revoke' "$(offered 'pawl admin token ')"
	same '' "$(offered 'pawl workers ')"
	same 'bash zsh fish' "$(offered 'pawl completion ')"
}

@test "files, folders and programs are completed by the shell" {
	cd "$dir"
	mkdir -p x.d
	touch x.flow.yaml
	same 'x.d x.flow.yaml' "$(offered 'pawl run x' | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/ $//')"
	same 'x.d' "$(offered 'pawl exec --cwd x')"
	[[ " $(offered 'pawl exec -- mkdi') " == *' mkdir '* ]]
	[[ " $(offered 'pawl exec -- cat x.fl') " == *' x.flow.yaml '* ]]
}

@test "ids, tasks and queues are completed from the database named on the command line" {
	line="--db $db --tenant $tenant"
	cat >"$dir/two.flow.yaml" <<-'END'
		name: two
		tasks:
		  first: {run: "true"}
		  second: {needs: first, foreach: 2, run: "true"}
	END
	id=$(p submit "$dir/two.flow.yaml")
	same "@last $id" "$(offered "pawl $line show ")"
	same "$id" "$(offered "pawl show $line $id")"
	same "@last $id" "$(offered "pawl cancel $line $id ")"
	same 'first second' "$(offered "pawl $line rerun $id --from ")"
	same 'second' "$(offered "pawl $line rerun @last --from s")"
	same 'default' "$(offered "pawl $line ls --queue ")"
	start_worker --queue none
	same "$worker_id" "$(offered "pawl $line drain ")"
	kill "$worker"
	for name in old ci; do p admin token create $name --scope read >/dev/null; done
	p admin token revoke old
	same 'ci' "$(offered "pawl $line admin token revoke ")"
	[[ $(pawl complete -- --db "$db" --tenant "$tenant" show "$id") == *two*pending* ]] ||
		[[ $(pawl complete -- --db "$db" --tenant "$tenant" show "$id") == *two*running* ]]
	p worker --drain --state "$state"
	p ls --tasks "$id" --json | grep -q 'two::second.0.'
	[ "$(pawl complete -- --db "$db" --tenant "$tenant" rerun "$id" --from s | wc -l)" = 1 ] # items are not offered
}

@test "applied workflows and their versions are completed" {
	line="--db $db --tenant $tenant"
	printf 'name: one\ntasks: {a: {run: x}}\n' >"$dir/one.flow.yaml"
	p apply "$dir/one.flow.yaml"
	hash=$(p workflow show one --json | jq -r .definition)
	same 'one' "$(offered "pawl $line workflow show ")"
	same 'one' "$(offered "pawl $line workflow rm o")"
	same "$hash" "$(offered "pawl $line workflow show one --version ")"
	[[ " $(offered "pawl $line submit ") " == *' one '* ]] # it has no schedule
}

@test "completion offers each command only the ids that the command accepts" {
	line="--db $db --tenant $tenant"
	cat >"$dir/ask.flow.yaml" <<-'END'
		name: ask
		tasks:
		  first: {run: "true"}
		  sure: {approval: {message: sure?}, run: "true"}
	END
	ask=$(p submit "$dir/ask.flow.yaml")
	p exec -- true
	id=$(p ls --limit 1 --json | jq .id)
	first=$(p ls --all --name ask::first --json | jq .id) sure=$(p ls --all --name ask::sure --json | jq .id)
	same "@last $id $sure $first" "$(offered "pawl $line logs ")"
	same "@last $sure" "$(offered "pawl $line approve ")"
	same "@last $sure $first" "$(offered "pawl $line skip ")"
	same "@last $ask" "$(offered "pawl $line cancel ")"
	same "@last $id" "$(offered "pawl $line rerun ")"
	same "@last $id $ask" "$(offered "pawl $line show ")"
}

# The screen of a real terminal after the Tab key.
types() { $tmux send-keys -l "$1" && $tmux send-keys Tab; }
shows() { $tmux capture-pane -p | grep -qE -- "$1"; }

@test "interactive bash completes ids and tasks on Tab" {
	cat >"$dir/two.flow.yaml" <<-'END'
		name: two
		tasks: {first: {run: "true"}, second: {needs: first, run: "true"}}
	END
	p run "$dir/two.flow.yaml"
	id=$(p ls --limit 1 --json | jq .id) second=$(p ls --all --name two::second --json | jq .id)
	tmux="tmux -L $tenant -f /dev/null"
	$tmux new-session -d -x 100 -y 30 "PATH=$PATH PAWL_DB=$db PAWL_TENANT=$tenant PS1='$ ' bash --norc -i # $mark"
	$tmux send-keys -l 'source <(pawl completion bash); echo ready' && $tmux send-keys Enter
	until_true shows '^ready'
	types 'pawl show @'
	until_true shows '^\$ pawl show @last *$'
	$tmux send-keys C-u
	types "pawl logs $second"
	until_true shows "^\\$ pawl logs $second *\$"
	$tmux send-keys C-u
	types "pawl rerun $id --from se"
	until_true shows "^\\$ pawl rerun $id --from second *\$"
	$tmux send-keys C-u
	types "pawl rerun $id --from "
	$tmux send-keys Tab
	until_true shows '^first +second'
	$tmux kill-server
}

@test "completion without a database is silent and quick" {
	for url in "sqlite:$dir/none.db" postgres://nobody@192.0.2.1/none nonsense; do
		for _ in 1 2 3 4 5; do # the machine may stall
			begin=$(date +%s%N)
			pawl complete -- --db "$url" show '' >"$dir/stdout" 2>"$dir/stderr"
			[ ! -s "$dir/stdout" ] && [ ! -s "$dir/stderr" ]
			took=$(($(date +%s%N) - begin))
			[ $took -ge 5000000000 ] || break
		done
		[ $took -lt 5000000000 ]
	done
	[ ! -e "$dir/none.db" ]
}

@test "completion scripts load in zsh and fish" {
	refused 2 'bash, zsh and fish' pawl completion csh
	pawl completion zsh | grep -q '^#compdef pawl'
	pawl completion fish | grep -q '^complete -c pawl'
	! command -v zsh || pawl completion zsh | zsh -n
	! command -v fish || pawl completion fish | fish --no-execute
}
