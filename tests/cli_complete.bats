#!/usr/bin/env bats
# Completion: what a real bash makes of a line with the script that `pawl completion bash` prints.

load cli_common
load cli_run

setup() {
	make_database
	make_state
}
teardown() {
	end_all
	remove_database
}

# What bash offers at the end of a line, on one line. readline hands over what follows its last break.
offered() { # line
	bash --norc -c 'source <(pawl completion bash)
		COMP_LINE=$1 COMP_POINT=${#1}
		word=${1##* }
		_pawl pawl "${word##*=}"
		printf "%s\n" "${COMPREPLY[@]}"' -- "$1" | tr '\n' ' ' | sed 's/ $//'
}

@test "bash knows the script for pawl" {
	[[ $(bash --norc -c 'source <(pawl completion bash); complete -p pawl') == *'-F _pawl pawl' ]]
}

@test "commands, and not those for programs" {
	same 'schedule schema' "$(offered 'pawl sche')"
	same '' "$(offered 'pawl complete-')"
	[[ " $(offered 'pawl ') " == *' worker exec run '* ]]
	[[ " $(offered 'pawl ') " != *' complete '* ]]
	same '' "$(offered 'pawl nosuch ')"
	same 'queue' "$(offered 'pawl help qu')"
}

@test "options, of the command and the common ones" {
	same '--dry-run --db' "$(offered 'pawl rerun 1 --d')"
	same '--tenant' "$(offered 'pawl --ten')"
	[[ " $(offered 'pawl exec -') " == *' --detach '*' --json '* ]]
}

@test "the words of an option, also after an equals sign and a comma" {
	same 'succeeded skipped' "$(offered 'pawl ls --status s')"
	same 'failed' "$(offered 'pawl ls --status=f')"
	same 'ready,running ready,ready' "$(offered 'pawl ls --status ready,r' | tr ' ' '\n' | sort -r | tr '\n' ' ' | sed 's/ $//')"
	same 'ascii dot mermaid svg' "$(offered 'pawl graph x --format ')"
}

@test "the words of a command, where they may stand" {
	same 'ls next pause resume run' "$(offered 'pawl schedule ')"
	same 'create drop list' "$(offered 'pawl admin tenant ')"
	same 'migrate tenant cleanup-events fence' "$(offered 'pawl admin ')"
	same '' "$(offered 'pawl workers ')"
	same 'bash zsh fish' "$(offered 'pawl completion ')"
}

@test "files, folders and programs are the shell's" {
	cd "$dir"
	mkdir -p x.d
	touch x.flow.yaml
	same 'x.d x.flow.yaml' "$(offered 'pawl run x' | tr ' ' '\n' | sort | tr '\n' ' ' | sed 's/ $//')"
	same 'x.d' "$(offered 'pawl exec --cwd x')"
	[[ " $(offered 'pawl exec -- mkdi') " == *' mkdir '* ]]
	[[ " $(offered 'pawl exec -- cat x.fl') " == *' x.flow.yaml '* ]]
}

@test "ids, tasks and queues come from the database that the line names" {
	line="--db $db --tenant $tenant"
	cat >"$dir/two.flow.yaml" <<-'END'
		name: two
		tasks:
		  first: {run: "true"}
		  second: {needs: first, run: "true"}
	END
	id=$(p submit "$dir/two.flow.yaml")
	same "@last $id" "$(offered "pawl $line show ")"
	same "$id" "$(offered "pawl show $line $id")"
	same "@last $id" "$(offered "pawl cancel $line $id ")"
	same 'first second' "$(offered "pawl $line rerun $id --from ")"
	same 'second' "$(offered "pawl $line rerun @last --from s")"
	same 'default' "$(offered "pawl $line ls --queue ")"
	[[ $(pawl complete -- --db "$db" --tenant "$tenant" show "$id") == *two*pending* ]] ||
		[[ $(pawl complete -- --db "$db" --tenant "$tenant" show "$id") == *two*running* ]]
	p worker --drain --state "$state"
}

@test "without a database it is silent and quick" {
	for url in "sqlite:$dir/none.db" postgres://nobody@192.0.2.1/none nonsense; do
		begin=$(date +%s%N)
		pawl complete -- --db "$url" show '' >"$dir/stdout" 2>"$dir/stderr"
		[ ! -s "$dir/stdout" ] && [ ! -s "$dir/stderr" ]
		[ $(($(date +%s%N) - begin)) -lt 5000000000 ]
	done
	[ ! -e "$dir/none.db" ]
}

@test "zsh and fish take their scripts" {
	refused 2 'bash, zsh and fish' pawl completion csh
	pawl completion zsh | grep -q '^#compdef pawl'
	pawl completion fish | grep -q '^complete -c pawl'
	! command -v zsh || pawl completion zsh | zsh -n
	! command -v fish || pawl completion fish | fish --no-execute
}
