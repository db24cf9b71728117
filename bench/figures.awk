# figures.awk - shared by the tables: reduces the JSON lines of a bench run to medians, with the range of the rounds.
# The files with the tables are loaded after it, so its heading is printed first.

function field(name,    s)
{
	if (!match($0, "\"" name "\":\"?[^,}\"]*"))
		return ""
	s = substr($0, RSTART, RLENGTH)
	sub(/^"[^"]*":"?/, "", s)
	return s
}

function add(key, value) { list[key] = list[key] (list[key] == "" ? "" : " ") value }

function sorted(key, out,    n, i, j, t)
{
	n = split(list[key], out, " ")
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && out[j] + 0 < out[j - 1] + 0; j--) {
			t = out[j]; out[j] = out[j - 1]; out[j - 1] = t
		}
	return n
}

function median(key,    v, n) { n = sorted(key, v); return n ? v[int((n + 1) / 2)] : 0 }

function thousands(n) { return n >= 1000 ? sprintf("%.1f k", n / 1000) : sprintf("%d", n) }

function shown(key,    v, n)
{
	n = sorted(key, v)
	if (!n)
		return "–"
	return thousands(v[int((n + 1) / 2)]) (n > 1 ? " (" thousands(v[1]) "–" thousands(v[n]) ")" : "")
}

# The median of fractional values: seconds, milliseconds, ratios.
function fine(key, unit,    v, n)
{
	n = sorted(key, v)
	if (!n)
		return "–"
	return sprintf("%.2f%s", v[int((n + 1) / 2)], unit) (n > 1 ? sprintf(" (%.2f–%.2f)", v[1], v[n]) : "")
}

BEGIN { split("sqlite postgres", dbs, " ") }

END {
	print "\nMeasured on " cores " cores, client and server together; PostgreSQL " pg_version " (fsync and synchronous_commit on),"
	print "SQLite " sqlite_version " (WAL, synchronous=FULL). Median of " rounds " rounds, with their range; the rounds take turns.\n"
}
