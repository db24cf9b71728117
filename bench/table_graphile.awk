# table_graphile.awk - whole lives compared with Graphile Worker; loaded after figures.awk.

# The figures of Pawl that were measured right before; only the ratios use them.
field("beside") == "graphile" {
	near[field("what")] = field("lives_per_s")
	add("near " field("what"), field("lives_per_s"))
	next
}

/"peer":"graphile/ {
	k = "graphile " field("variant")
	peer_version = field("version")
	add(k, field("lives_per_s"))
	add(k " push", near["push"] / field("lives_per_s"))
	add(k " lives", near["lives"] / field("lives_per_s"))
}

function graphile(    variants, meaning, i, k)
{
	if (list["graphile apart"] == "") {
		print "\nGraphile Worker could not be installed here: no comparison."
		return
	}
	print "\n| whole lives on PostgreSQL, one right after the other | lives/s | Pawl by push does | through the queue |\n|---|---|---|---|"
	printf "| Pawl, 3 connections, batches of 500, by push | %s | | |\n", shown("near push")
	printf "| the same through the queue | %s | | |\n", shown("near lives")
	split("apart together tuned", variants, " ")
	meaning["apart"] = "one process, local queue 500, batched completion: add_jobs, then run"
	meaning["together"] = "the same, adding while it runs"
	meaning["tuned"] = "the best of a sweep: two runners, local queue 2,000, adding while they run"
	for (i = 1; i <= 3; i++) {
		k = "graphile " variants[i]
		printf "| Graphile Worker %s, %s | %s | %s times that | %s times that |\n", peer_version, meaning[variants[i]], shown(k), \
		       fine(k " push"), fine(k " lives")
	}
}

END { if (whole == "graphile") graphile() }
