# cli_all_commands.bash - the main path of every command once, on a small database with an object for each of them.
# `fill_database` fills in the words in capitals. A command without a line here fails cli_all_commands.bats. Load after
# cli_common and cli_run.

# The order matters: some commands use up what others need. A command marked with "#" prints no data and has no --json.
every() {
	cat <<-'END'
		init NEW #
		trust CONFIG #
		trust --remove CONFIG #
		validate FLOW
		graph FLOW #
		graph RUN --format dot #
		graph RUN --format json #
		schema
		apply TIMED
		workflow
		workflow show timed
		workflow versions timed
		schedule ls
		schedule next
		schedule pause timed
		schedule resume timed
		schedule run timed/1
		workflow rm timed --reason 'not needed'
		submit FLOW
		exec --detach -- true
		approve ASKED1
		reject ASKED2 --reason no
		skip LATE
		pause OPEN
		resume OPEN
		cancel --workflow open --dry-run
		cancel OPEN --reason enough
		ls
		ls --count
		ls --tasks RUN
		show RUN
		show RUN --at=#3
		tree RUN
		tree RUN --critical
		diff RUN OPEN
		events RUN
		why RUN
		why BAD
		logs GOOD
		queue set reports --limit 2
		queue
		drain WORKER --reason 'new disk'
		workers
		top
		submissions
		metrics
		bench --span 20ms
		rerun RUN --failed --dry-run
		exec -- sh -c 'echo done'
		run FLOW
		rerun RUN --failed
		wait RUN --timeout 10m
		watch RUN
		worker --slots 2 --drain #
		verify
		verify --host
		admin tenant list
		admin token create ci --scope read --expires 1d
		admin token list
		admin token revoke ci
		admin cleanup-events --older-than 90d --dry-run
		admin migrate
		admin fence --yes
		completion bash #
		complete -- show '' #
		help show #
	END
}

# RUN is a workflow that failed, GOOD and BAD are its tasks; OPEN is one that waits for approvals. WORKER serves no queue that
# has jobs.
fill_database() {
	cat >"$dir/flow.yaml" <<-'END'
		name: flow
		params: {day: {type: string, default: monday}}
		tasks:
		  good: {run: 'echo "$day"; echo n=1 >>"$PAWL_OUTPUT"'}
		  each: {needs: good, foreach: [a, b], run: 'echo "$ITEM"'}
		  flaky: {needs: good, retry: {max: 1, delay: 1ms}, run: 'test -e "$MENDED"', env: {MENDED: MARK}}
		  last: {needs: [each, flaky], run: echo last}
	END
	sed -i "s|MARK}|'$dir/mended'}|" "$dir/flow.yaml"
	cat >"$dir/open.yaml" <<-'END'
		name: open
		tasks:
		  one: {approval: {message: sure?}, run: 'true'}
		  two: {approval: {message: sure?}, run: 'true'}
		  late: {needs: one, run: 'true'}
	END
	printf 'name: timed\non: {schedule: "0 2 * * *"}\ntasks: {a: {run: "true"}}\n' >"$dir/timed.yaml"
	printf 'tenant: other\n' >"$dir/pawl.yaml"
	run_id=$(p run "$dir/flow.yaml" --json 2>"$dir/errors" | sed 's/{"id":\([0-9]*\),.*/\1/') || true
	open_id=$(p submit "$dir/open.yaml")
	touch "$dir/mended"
	start_worker --queue none --state "$dir/other" # it finds no job
}

# The id of a task by its full name.
task_id() { p ls --all --name "$1" --json | sed -n '1s/{"id":\([0-9]*\),.*/\1/p'; }

# A line of `every` with its words filled in.
fill_in() {
	sed -e "s|NEW|$dir/new.yaml|" -e "s|CONFIG|$dir/pawl.yaml|" -e "s|FLOW|$dir/flow.yaml|" -e "s|TIMED|$dir/timed.yaml|" -e "s|RUN|$run_id|" \
		-e "s|OPEN|$open_id|" -e "s|GOOD|$good_id|" -e "s|BAD|$bad_id|" -e "s|ASKED1|$asked1|" -e "s|ASKED2|$asked2|" \
		-e "s|LATE|$late|" -e "s|WORKER|$worker_id|"
}

# Calls `each` with the words of each command in turn, and stops at the first failure, whose status it returns.
walk() { # each [sed-script to choose lines]
	local line words json
	fill_database
	good_id=$(task_id flow::good) bad_id=$(task_id flow::flaky)
	asked1=$(task_id open::one) asked2=$(task_id open::two) late=$(task_id open::late)
	while read -r line <&4; do
		json=--json
		[[ $line != *'#' ]] || json=
		eval "words=($(fill_in <<<"${line%#}"))"
		"$1" "$json" "${words[@]}" || {
			echo "failed: pawl ${words[*]}"
			return 1
		}
	done 4< <(every | sed "${2:-}")
}
