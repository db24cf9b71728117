# table.awk - the tables of jobs; loaded after figures.awk.

{
	what = field("what"); db = field("db")
	if (what == "lives") add(db " lives " field("connections") " " field("batch"), field("lives_per_s"))
	if (what == "push") add(db " push " field("connections") " " field("batch"), field("lives_per_s"))
	if (what == "lives" || what == "push") redone += field("redone")
	if (what == "lives" && db == "sqlite") add("sqlite wal " field("connections") " " field("batch"), field("written_per_job"))
	if (what == "raw") add(db " raw " field("connections") " " field("batch"), field("lives_per_s"))
	if (what == "wal") add("postgres wal " field("connections") " " field("batch"), field("bytes"))
	if (what == "claim") { waits[db " " ++nclaim[db]] = field("waiting"); p50[db " " nclaim[db]] = field("p50_us"); p90[db " " nclaim[db]] = field("p90_us") }
	if (what == "tree") { tree50[db " " field("way")] = field("p50_us"); tree90[db " " field("way")] = field("p90_us"); others = field("others") }
	if (what == "wake") { wake50[db] = field("p50_us"); wake99[db] = field("p99_us"); lost[db] = field("lost") }
	if (what == "idle") { idle[db] = field("statements_per_worker_and_10s"); idle_s = field("seconds") }
	if (what == "idle_log") logged = field("statements")
	if (what == "engine") add(db " loops " field("engines") " " field("loops"), field("lives_per_s"))
	if (what == "engine" && field("loops") == 1) {
		add(db " engine " field("engines"), field("lives_per_s"))
		add(db " share " field("engines"), field("lives_per_s") / last[db " push " field("engines")])
	}
	if (what == "push") last[db " push " field("connections")] = field("lives_per_s")
	if (what == "make" || what == "xargs") add(what " " field("slots"), field("seconds"))
	if (what == "make") make_took[field("slots")] = field("seconds")
	if (what == "exec") {
		commands = field("jobs")
		exec_took[db " " field("slots")] = field("seconds")
		add(db " exec " field("slots"), field("seconds"))
		add(db " times " field("slots"), field("seconds") / make_took[field("slots")])
		add(db " commits " field("slots"), field("commits"))
	}
	if ($0 ~ /"peer":"dagu/ && field("shell") == "direct") {
		dagu_version = field("version")
		add("dagu " field("slots"), field("seconds"))
		add("dagu times " field("slots"), field("seconds") / make_took[field("slots")])
		for (d = 1; d <= 2; d++)
			add(dbs[d] " dagu " field("slots"), field("seconds") / exec_took[dbs[d] " " field("slots")])
	}
	if (what == "start") { add("start " field("of"), field("p50_us") / 1000); add("start90 " field("of"), field("p90_us") / 1000) }
	if (what == "start" && field("of") == "true") smallest = field("p50_us")
	if (what == "start" && field("of") == "version") add("start times", field("p50_us") / smallest)
	if (what == "start" && field("of") == "hello_sqlite") hello = field("p50_us")
	if (what == "start" && field("of") == "hello_dagu") add("dagu hello", field("p50_us") / hello)
	if (what == "size") program_bytes = field("bytes")
	if (what == "latency") {
		add(db " p50 " field("of"), field("p50_us") / 1000)
		add(db " p99 " field("of"), field("p99_us") / 1000)
		add(db " accepted " field("of"), field("accepted_p50_us") / 1000)
		add(db " disk " field("of"), 2 * field("disk_p50_us") / 1000)
	}
	if (what == "footprint") {
		cpu[db] = field("cpu_ms") + field("helper_cpu_ms"); watched = field("seconds"); sent[db] = field("statements_per_10s")
		anon[db] = field("anon_kb"); helper[db] = field("helper_anon_kb"); mapped[db] = field("file_kb")
	}
}

END {
	print "| database | connections | batch | lives/s by push | lives/s through the queue | raw loop of the same SQL | ratio | bytes written per job |"
	print "|---|---|---|---|---|---|---|---|"
	split("1 10 100 500", batches, " ")
	for (d = 1; d <= 2; d++)
		for (c = 1; c <= 3; c += 2)
			for (b = 1; b <= 4; b++) {
				k = c " " batches[b]
				raw = median(dbs[d] " raw " k)
				printf "| %s | %d | %d | %s | %s | %s | %s | %s |\n", dbs[d], c, batches[b], shown(dbs[d] " push " k), shown(dbs[d] " lives " k), \
				       shown(dbs[d] " raw " k), raw ? sprintf("%.2f", median(dbs[d] " lives " k) / raw) : "–", shown(dbs[d] " wal " k)
			}
	graphile()
	if (redone)
		printf "\n%d turns in all runs were repeated (a lock or the database was not available in time).\n", redone
	print "\n| a run with 1,000 items among " others " executions | p50 | p90 |\n|---|---|---|"
	split("outline whole program", ways)
	split("the outline of a view|the whole tree as JSON|`pawl tree`, from start to end", means, "|")
	for (d = 1; d <= 2; d++)
		for (i = 1; i <= 3; i++)
			printf "| %s: %s | %.1f ms | %.1f ms |\n", dbs[d], means[i], tree50[dbs[d] " " ways[i]] / 1000, tree90[dbs[d] " " ways[i]] / 1000
	print "\n| a claim of 100 from 8 queues | waiting | p50 | p90 |\n|---|---|---|---|"
	for (d = 1; d <= 2; d++)
		for (i = 1; i <= nclaim[dbs[d]]; i++)
			printf "| %s | %d and %d delayed | %.2f ms | %.2f ms |\n", dbs[d], waits[dbs[d] " " i], waits[dbs[d] " " i] * 0.3, \
			       p50[dbs[d] " " i] / 1000, p90[dbs[d] " " i] / 1000
	print "\n| | commit to wake-up, p50 | p99 | lost | idle: statements per worker and 10 s |\n|---|---|---|---|---|"
	for (d = 1; d <= 2; d++)
		printf "| %s | %.2f ms | %.2f ms | %d | %s |\n", dbs[d], wake50[dbs[d]] / 1000, wake99[dbs[d]] / 1000, lost[dbs[d]], idle[dbs[d]]
	printf "\nIdle: 4 workers for %d s; the server's own log shows %d statements besides BEGIN, its settings, and COMMIT.\n", idle_s, logged

	print "\n| functions that do nothing, through the whole engine | engines | lives/s | of the store alone, by push |\n|---|---|---|---|"
	for (d = 1; d <= 2; d++)
		for (c = 1; c <= 3; c += 2)
			if (list[dbs[d] " engine " c] != "")
				printf "| %s | %d | %s | %s |\n", dbs[d], c, shown(dbs[d] " engine " c), fine(dbs[d] " share " c)
	print "\n| the same on PostgreSQL, one engine | 1 loop | 2 loops | 3 loops |\n|---|---|---|---|"
	printf "| lives/s | %s | %s | %s |\n", shown("postgres loops 1 1"), shown("postgres loops 1 2"), shown("postgres loops 1 3")
	printf "\n| %d commands `true` | one after another | times make's | 10 at a time | times make's | commits, one after another; 10 at a time |\n|---|---|---|---|---|---|\n", commands
	printf "| GNU make | %s | 1 | %s | 1 | |\n", fine("make 1", " s"), fine("make 10", " s")
	printf "| xargs -P | %s | | %s | | |\n", fine("xargs 1", " s"), fine("xargs 10", " s")
	for (d = 1; d <= 2; d++)
		printf "| Pawl, %s | %s | %s | %s | %s | %d; %d |\n", dbs[d], fine(dbs[d] " exec 1", " s"), fine(dbs[d] " times 1"), \
		       fine(dbs[d] " exec 10", " s"), fine(dbs[d] " times 10"), median(dbs[d] " commits 1"), median(dbs[d] " commits 10")
	if (list["dagu 1"] != "") {
		printf "| Dagu %s | %s | %s | %s | %s | |\n", dagu_version, fine("dagu 1", " s"), fine("dagu times 1"), \
		       fine("dagu 10", " s"), fine("dagu times 10")
		printf "\nDagu takes %s times as long as Pawl on SQLite one after another, %s times 10 at a time;\n", \
		       fine("sqlite dagu 1"), fine("sqlite dagu 10")
		printf "as Pawl on PostgreSQL %s and %s times.\n", fine("postgres dagu 1"), fine("postgres dagu 10")
	}
	else
		print "\nDagu could not be installed here: no comparison."
	print "\n| whole programs, from start to end | p50 | p90 |\n|---|---|---|"
	split("true version hello_sqlite hello_postgres", programs, " ")
	split("`/bin/true`|`pawl --version`|`pawl run examples/hello.flow.yaml`, sqlite|the same, postgres", called, "|")
	for (i = 1; i <= 4; i++)
		printf "| %s | %s | %s |\n", called[i], fine("start " programs[i], " ms"), fine("start90 " programs[i], " ms")
	if (list["dagu hello"] != "")
		printf "| Dagu %s, hello world | %s | %s |\n", dagu_version, fine("start hello_dagu", " ms"), fine("start90 hello_dagu", " ms")
	printf "\n`pawl --version` takes %s times as long as `/bin/true`. `pawl`, stripped, has %.2f MB.\n", fine("start times"), program_bytes / 1e6
	if (list["dagu hello"] != "")
		printf "Dagu takes %s times as long for hello world as `pawl run` on SQLite.\n", fine("dagu hello")
	print "\n| from the call that submits to the first instruction | | p50 | p99 | of it until accepted, p50 | what the disk alone takes for two commits, p50 |\n|---|---|---|---|---|---|"
	split("function process", kinds, " ")
	for (d = 1; d <= 2; d++)
		for (i = 1; i <= 2; i++)
			printf "| %s | %s | %s | %s | %s | %s |\n", dbs[d], kinds[i], fine(dbs[d] " p50 " kinds[i], " ms"), fine(dbs[d] " p99 " kinds[i], " ms"), \
			       fine(dbs[d] " accepted " kinds[i], " ms"), fine(dbs[d] " disk " kinds[i], " ms")
	printf "\n| `pawl worker` with nothing to do, %d s | processor time | statements per 10 s | private memory | memory of its helper | mapped from files |\n|---|---|---|---|---|---|\n", watched
	for (d = 1; d <= 2; d++)
		printf "| %s | %.1f ms | %s | %.1f MB | %.1f MB | %.1f MB |\n", dbs[d], cpu[dbs[d]], sent[dbs[d]], anon[dbs[d]] / 1024, helper[dbs[d]] / 1024, mapped[dbs[d]] / 1024
}
