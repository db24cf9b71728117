# table_flow.awk - the tables of workflows; loaded after figures.awk.

{
	what = field("what"); db = field("db")
	if (what == "make" || what == "xargs") beside[what " " field("slots")] = field("seconds")
	if (what == "flow") {
		k = db " " field("shape") " " field("n") " "
		add(k "s", field("seconds")); add(k "accepted", field("accepted_s")); add(k "us", field("us_per_job"))
		add(k "rate", field("workflows_per_s")); add(k "commits", field("commits"))
		add(k "each", field("statements") / field("jobs")); add(k "mb", field("peak_kb") / 1024)
		size[field("shape")] = field("n")
		if (field("shape") == "fanout") {
			if (field("n") < few || !few) few = field("n")
			if (field("n") > many) many = field("n")
		}
	}
	if (what == "flow" && field("shape") == "steps" && db == "postgres") five = field("workflows_per_s")
	if ($0 ~ /"peer":"(dbos|openworkflow)"/) {
		k = field("peer") " " field("variant")
		version[field("peer")] = field("version"); pool[k] = field("pool")
		add(k, field("workflows_per_s")); add(k " times", five / field("workflows_per_s"))
	}
	if ($0 ~ /"peer":"dagu/ && field("shell") == "sh") {
		version["dagu"] = field("version")
		k = "dagu flow " field("slots")
		add(k, field("seconds")); add(k " times", field("seconds") / beside[field("slots") == 1 ? "make 1" : "xargs " field("slots")])
		for (d = 1; d <= 2; d++)
			add(dbs[d] " " k, field("seconds") / shell_took[dbs[d] " " field("slots")])
	}
	if (what == "flow" && field("shape") == "shell") {
		shell_took[db " " field("slots")] = field("seconds")
		k = db " shell " field("slots")
		peer = field("slots") == 1 ? "make 1" : "xargs " field("slots")
		add(k, field("seconds")); add(k " times", field("seconds") / beside[peer])
		add(k " commits", field("commits"))
	}
}

END {
	if (whole == "yes")
		print "\n<!-- workflows -->"
	print "\n| workflows of functions that do nothing, through the whole engine | sqlite | postgres |\n|---|---|---|"
	row("a chain of " size["chain"] ", in s", "chain", "s")
	row("commits for it", "chain", "commits")
	row(size["steps"] " workflows of five tasks in a chain: workflows/s", "steps", "rate")
	row(size["diamond"] " workflows of a diamond: workflows/s", "diamond", "rate")
	for (i = 1; i <= 2; i++) {
		size["fanout"] = i == 1 ? few : many
		row("a list of " size["fanout"] ": µs an item", "fanout", "us")
		row("statements an item", "fanout", "each")
		row("most memory, in MB", "fanout", "mb")
	}
	row("a graph of " size["graph"] " tasks: accepted after, in s", "graph", "accepted")
	row("µs a task", "graph", "us")
	row("statements a task", "graph", "each")
	row("most memory, in MB", "graph", "mb")
	printf "\n| %d commands `true` in a workflow | a chain | times make's | commits | nothing to wait for, 10 at a time | times that of `xargs -P10` |\n|---|---|---|---|---|---|\n", size["shell"]
	for (d = 1; d <= 2; d++)
		printf "| %s | %s | %s | %d | %s | %s |\n", dbs[d], fine(dbs[d] " shell 1", " s"), fine(dbs[d] " shell 1 times"), \
		       median(dbs[d] " shell 1 commits"), fine(dbs[d] " shell 10", " s"), fine(dbs[d] " shell 10 times")
	if (list["dagu flow 1"] != "") {
		printf "| Dagu %s | %s | %s | | %s | %s |\n", version["dagu"], fine("dagu flow 1", " s"), fine("dagu flow 1 times"), fine("dagu flow 10", " s"), fine("dagu flow 10 times")
		printf "\nDagu takes %s times as long for the chain as Pawl on SQLite, %s times 10 at a time;\n", fine("sqlite dagu flow 1"), fine("sqlite dagu flow 10")
		printf "as Pawl on PostgreSQL %s and %s times.\n", fine("postgres dagu flow 1"), fine("postgres dagu flow 10")
	}
	else if (whole != "yes") # otherwise the sentence is printed above
		print "\nDagu could not be installed here: no comparison."
	peers()
}

# Prints DBOS and OpenWorkflow, measured on the same server right after Pawl.
function peers(    names, called, p, k)
{
	if (list["dbos tuned"] == "") {
		print "\nDBOS and OpenWorkflow could not be installed here: no comparison."
		return
	}
	print "\n| workflows of five steps that do nothing, on PostgreSQL | workflows/s | Pawl does |\n|---|---|---|"
	printf "| Pawl, one engine: a connection that works and one that listens | %s | |\n", fine("postgres steps " size["steps"] " rate")
	split("dbos openworkflow", names, " ")
	split("DBOS OpenWorkflow", called, " ")
	for (p = 1; p <= 2; p++) {
		k = names[p] " alike"
		printf "| %s %s, %d connections, as many as the engine has | %s | %s times that |\n", called[p], version[names[p]], pool[k], fine(k), fine(k " times")
		k = names[p] " tuned"
		printf "| %s at its best, %d connections | %s | %s times that |\n", called[p], pool[k], fine(k), fine(k " times")
	}
}

function row(text, shape, of,    k)
{
	k = " " shape " " size[shape] " " of
	printf "| %s | %s | %s |\n", text, fine("sqlite" k), fine("postgres" k)
}
