# sqlgen.awk - generates C tables from the SQL files of the store, so that C contains no SQL and SQL no C.
#
#   awk -v vocab=src/core/vocab.h -v flags=src/core/graph.h -v make=statements.h -f tools/sqlgen.awk src/store/sql/*.sql
#   and in the same way statements.c, and migrations.c from src/store/migrations/*.sql
#
# A file of statements:
#
#   -- Lines that start with "--" are comments and are dropped.
#   --: job_insert(now time; root i64,
#   --:+           data text)
#   INSERT INTO jobs (at, root, data)
#   SELECT $1, u.* FROM unnest($2, $3) AS u      --@ postgres
#   VALUES ($1, $2, $3)                          --@ sqlite
#
# Parameters before the ";" are passed once, those after it once per row: PostgreSQL gets an array of each,
# SQLite runs the statement for each row, or, if it is an INSERT that ends with VALUES ($1, …), for several rows. A tagged line belongs only to that dialect; a statement without a
# line for a dialect has no text there. $N becomes ?N for SQLite, which would read $N as a name.
#
# On PostgreSQL @rows@ stands for the rows passed, with a column named after each parameter after the ";":
# SELECT u.* FROM @rows@ AS u. (It uses unnest() in the select list: in FROM, each array would be stored twice.)
#
# @given@ stands for the rows passed, named u, in the form that the statement needs; :name stands for a parameter of the row:
#
#   INSERT INTO jobs @given@                                (root, data) SELECT * FROM @rows@ AS u, or VALUES ($1, $2)
#   DELETE FROM jobs AS j @given@ WHERE j.id = ANY (:id)    USING @rows@ AS u WHERE j.id = ANY (ARRAY[u.id]), or WHERE j.id = $1
#   UPDATE jobs AS j SET data = :data @given@ WHERE …       FROM @rows@ AS u; SELECT … FROM jobs j @given@: a join with u
#
# "= ANY ($1)" is "= $1" on SQLite, too: a statement that only reads rows by their ids needs no @given@.
#
#   --= columns e.id, e.root,
#   --=+        e.status
#
# defines a piece of text once; @columns@ inserts it into the statements that follow, also in later files. A piece may have a tagged
# text for each dialect.
#
#   --! I27 e.id, 'it has an outbox row, but is not a job'
#     FROM task_outbox o JOIN executions e ON e.id = o.execution WHERE e.kind > KIND_EXEC
#
# is one check of `pawl verify`: the invariant, the execution and the sentence of each violation. The checks of a statement become its
# last WITH query, `violations`, from which @report@ selects.
#
# Codes of core/vocab.h and core/graph.h are written by their names: e.status = S_READY, v.type = EV_CLAIMED. SQL never holds a bare code.
#
# A migration is a file NNNN_name.sql. It is kept as written, except for the tags and the types of columns,
# which are those of PostgreSQL: SQLite gets INTEGER for bigint, smallint and timestamptz, and BLOB for bytea.

BEGIN {
	split("sqlite postgres", dialects)
	split("i64 i32 i16 text time bytes tid", list)
	for (i in list)
		is_type[list[i]] = 1
	if (make != "statements.h" && make != "statements.c" && make != "migrations.c") {
		print "sqlgen.awk: -v make= must be statements.h, statements.c or migrations.c" > "/dev/stderr"
		failed = 1
		exit 1
	}
	migrating = make == "migrations.c"
	joins_rows["SELECT"] = joins_rows["WITH"] = ","
	joins_rows["DELETE"] = "USING"
	joins_rows["UPDATE"] = "FROM"
	read_vocab()
}

# here() is the current line; an error about a whole statement is reported at the line where it starts.
function fail(where, message)
{
	print where ": " message > "/dev/stderr"
	failed = 1
	exit 1
}

function here() { return FILENAME ":" FNR }

function trim(s)
{
	gsub(/^[ \t]+|[ \t]+$/, "", s)
	return s
}

# Reads the codes of the vocabulary: KIND_TASK, S_READY, EV_CLAIMED … from the lists of core/vocab.h, the flags of an execution
# from core/graph.h. WORKFLOW_EV_PAUSED is the code of an event of a workflow.
function read_vocab(    line, prefix, lists, part)
{
	split("KINDS KIND_ STATUSES S_ HOLDS HELD_ TIMERS TIMER_ OUTCOMES OUTCOME_ AUDIT_ACTIONS AUDIT_ EVENTS EV_", lists, " ")
	for (i = 1; i in lists; i += 2)
		prefix_of[lists[i]] = lists[i + 1]
	while ((getline line <vocab) > 0) {
		if (match(line, /^#define [A-Z_]+\(X\)/)) {
			split(line, part, /[ (]/)
			prefix = prefix_of[part[2]]
		} else if (match(line, /^#define WORKFLOW_EVENT +[0-9]+/)) {
			split(line, part, / +/)
			code["WORKFLOW_EVENT"] = part[3]
		} else if (prefix != "" && match(line, /X\([A-Z_]+, [0-9]+,/)) {
			split(substr(line, RSTART + 2, RLENGTH - 3), part, ", ")
			code[prefix part[1]] = part[2]
		}
	}
	for (name in code)
		if (name ~ /^EV_/)
			code["WORKFLOW_" name] = code[name] + code["WORKFLOW_EVENT"]
	while ((getline line <flags) > 0)
		if (match(line, /FLAG_[A-Z_]+ = [0-9]+/)) {
			split(substr(line, RSTART, RLENGTH), part, " = ")
			code[part[1]] = part[2]
		}
	if (!("S_READY" in code) || !("FLAG_PAUSED" in code) || !("WORKFLOW_EV_PAUSED" in code))
		fail("sqlgen.awk", "-v vocab= and -v flags= must name src/core/vocab.h and src/core/graph.h")
}

# Replaces the names in the vocabulary with their codes.
function put_codes(line,    out, name)
{
	out = ""
	while (match(line, /(^|[^A-Za-z0-9_])(KIND|S|HELD|TIMER|OUTCOME|AUDIT|EV|FLAG|WORKFLOW)_[A-Z_]+/)) {
		name = substr(line, RSTART, RLENGTH)
		out = out substr(line, 1, RSTART - 1)
		line = substr(line, RSTART + RLENGTH)
		if (name !~ /^[A-Z]/) {
			out = out substr(name, 1, 1)
			name = substr(name, 2)
		}
		if (!(name in code))
			fail(here(), "the vocabulary has no \"" name "\"")
		out = out code[name]
	}
	return out line
}

function put_pieces(line, dialect,    name)
{
	while (match(line, /@[a-z][a-z0-9_]*@/)) {
		name = substr(line, RSTART + 1, RLENGTH - 2)
		if (name == "given")
			pieces[name, dialect] = given_rows(dialect)
		if (!((name, dialect) in pieces))
			fail(here(), "there is no piece \"" name "\" for " dialect)
		line = substr(line, 1, RSTART - 1) pieces[name, dialect] substr(line, RSTART + RLENGTH)
	}
	return line
}

# The rows passed, in the form that the verb of the statement needs.
function given_rows(dialect)
{
	if (!count[n, 2])
		fail(here(), "\"" names[n] "\" gets no rows")
	if (verb == "INSERT")
		return "(" row_columns ") " (dialect == "sqlite" ? "VALUES (" row_numbers ")" : "SELECT * FROM @rows@ AS u")
	if (!(verb in joins_rows))
		fail(here(), "@given@ in a statement that starts with \"" verb "\"")
	return dialect == "sqlite" ? "" : joins_rows[verb] " @rows@ AS u"
}

# Replaces :name by the parameter of the row.
function put_row_parameters(line, dialect,    out, name)
{
	out = ""
	while (match(line, /[ (]:[a-z_]+/)) {
		name = substr(line, RSTART + 2, RLENGTH - 2)
		if (!((n, name) in number_of))
			fail(here(), "\"" names[n] "\" gets no rows with \"" name "\"")
		out = out substr(line, 1, RSTART) (dialect == "sqlite" ? "$" number_of[n, name] : "u." name)
		line = substr(line, RSTART + RLENGTH)
	}
	line = out line
	if (dialect == "sqlite")
		while (match(line, /= ANY \(\$[0-9]+\)/))
			line = substr(line, 1, RSTART - 1) "= " substr(line, RSTART + 7, RLENGTH - 8) substr(line, RSTART + RLENGTH)
	else
		while (match(line, /= ANY \(u\.[a-z_]+\)/))
			line = substr(line, 1, RSTART + 5) "(ARRAY[" substr(line, RSTART + 7, RLENGTH - 8) "])" substr(line, RSTART + RLENGTH)
	return line
}

# Removes the tag from a line and returns its dialect; "" if the line belongs to both dialects.
function cut_tag(    tag)
{
	if (!match(cut_line, /--@.*$/))
		return ""
	tag = trim(substr(cut_line, RSTART + 3))
	cut_line = substr(cut_line, 1, RSTART - 1)
	if (tag != "sqlite" && tag != "postgres")
		fail(here(), "unknown dialect \"" tag "\"")
	return tag
}

function sqlite_types(line)
{
	gsub(/ (bigint|smallint|timestamptz)/, " INTEGER", line)
	gsub(/ bytea/, " BLOB", line)
	return line
}

# Adds one line of text to the current entry, for the dialects it applies to.
function add_line(line,    tag, i, t)
{
	cut_line = line
	tag = cut_tag()
	line = cut_line
	sub(/[ \t\r]+$/, "", line)
	if (verb == "") {
		verb = trim(line)
		sub(/[^A-Z].*$/, "", verb)
	}
	for (i = 1; i in dialects; i++)
		if (tag == "" || tag == dialects[i]) {
			t = migrating ? line : put_row_parameters(put_pieces(line, dialects[i]), dialects[i])
			t = put_codes(t)
			text[n, dialects[i]] = text[n, dialects[i]] (migrating && dialects[i] == "sqlite" ? sqlite_types(t) : t) "\n"
		}
}

# Adds to the text of the current piece, for the dialects it applies to.
function add_to_piece(line,    tag, i)
{
	cut_line = line
	tag = cut_tag()
	for (i = 1; i in dialects; i++)
		if (tag == "" || tag == dialects[i])
			pieces[piece, dialects[i]] = trim(pieces[piece, dialects[i]] " " trim(cut_line))
}

function start_entry(name)
{
	finish_statement()
	if (name in defined_at)
		fail(here(), "\"" name "\" is already defined at " defined_at[name])
	n++
	verb = ""
	names[n] = name
	started[n] = defined_at[name] = here()
	file_of[n] = FILENAME
}

# Parses "name(a i64; b text)" into the tables, once all lines of the signature have been read.
function parse_signature(    s, halves, h, params, i, words)
{
	s = signature
	if (s !~ /^[a-z][a-z0-9_]*[ \t]*\([^()]*\)$/)
		fail(started[n], "a signature must read: name(a i64, b text; c i64)")
	sub(/^[^(]*\(/, "", s)
	sub(/\)$/, "", s)
	if (split(s, halves, ";") > 2)
		fail(started[n], "more than one \";\" in a signature")
	count[n, 1] = count[n, 2] = 0
	types[n] = rows = row_columns = row_numbers = ""
	for (h = 1; h <= 2; h++) {
		if (trim(halves[h]) == "")
			continue
		count[n, h] = split(halves[h], params, ",")
		for (i = 1; i <= count[n, h]; i++) {
			if (split(trim(params[i]), words, /[ \t]+/) != 2)
				fail(started[n], "a parameter must read \"name type\", not \"" trim(params[i]) "\"")
			if (!(words[2] in is_type))
				fail(started[n], "unknown type \"" words[2] "\"")
			types[n] = types[n] (types[n] == "" ? "" : ", ") "T_" toupper(words[2])
			if (h == 1)
				continue
			number_of[n, words[1]] = count[n, 1] + i
			rows = rows (i == 1 ? "(SELECT " : ", ") "unnest($" count[n, 1] + i ") AS " words[1]
			row_columns = row_columns (i == 1 ? "" : ", ") words[1]
			row_numbers = row_numbers (i == 1 ? "$" : ", $") count[n, 1] + i
		}
	}
	pieces["rows", "postgres"] = rows (rows == "" ? "" : ")")
	signature = ""
}

# Replaces $N with mark N, and refuses a number that is not in the signature.
function number_parameters(s, mark,    out, number)
{
	out = ""
	while (match(s, /\$[0-9]+/)) {
		number = substr(s, RSTART + 1, RLENGTH - 1)
		if (number + 0 < 1 || number + 0 > count[n, 1] + count[n, 2])
			fail(started[n], "\"" names[n] "\" has no parameter $" number)
		out = out substr(s, 1, RSTART - 1) mark number
		s = substr(s, RSTART + RLENGTH)
	}
	return out s
}

function finish_statement(    i, t)
{
	if (n == 0 || migrating)
		return
	if (signature != "")
		parse_signature()
	if (in_checks == n)
		add_line(")\n@report@")
	for (i = 1; i in dialects; i++) {
		t = text[n, dialects[i]]
		sub(/\n+$/, "", t)
		text[n, dialects[i]] = number_parameters(t, dialects[i] == "sqlite" ? "?" : "$")
	}
	if (text[n, "sqlite"] text[n, "postgres"] == "")
		fail(started[n], "\"" names[n] "\" has no text")
}

migrating && FNR == 1 {
	base = FILENAME
	sub(/^.*\//, "", base)
	if (base !~ /^[0-9][0-9][0-9][0-9]_[a-z0-9_]+\.sql$/)
		fail(FILENAME, "a migration must be named NNNN_name.sql")
	version = substr(base, 1, 4) + 0
	if (version != n + 1)
		fail(FILENAME, "migrations must be numbered without gaps: expected " n + 1)
	start_entry(substr(base, 6, length(base) - 9))
}

migrating { add_line($0); next }

/^--=\+/ {
	if (piece == "")
		fail(here(), "there is no piece for \"--=+\" to continue")
	add_to_piece(substr($0, 5))
	next
}

/^--=/ {
	line = trim(substr($0, 4))
	piece = line
	sub(/[^a-z0-9_].*$/, "", piece)
	if ((piece, "sqlite") in pieces && (piece, "postgres") in pieces)
		fail(here(), "the piece \"" piece "\" is already defined")
	add_to_piece(substr(line, length(piece) + 1))
	next
}

/^--!/ {
	if (signature != "")
		parse_signature()
	line = trim(substr($0, 4))
	if (line !~ /^[A-Z][0-9][0-9] /)
		fail(here(), "a check must read: --! I01 execution, detail FROM …")
	if (in_checks != n)
		add_line((text[n, "sqlite"] == "" ? "WITH" : ",") " violations(code, execution, detail) AS (")
	add_line((in_checks == n ? "    UNION ALL\n" : "") "    SELECT \047" substr(line, 1, 3) "\047, " substr(line, 5))
	in_checks = n
	next
}

/^--:\+/ {
	if (signature == "")
		fail(here(), "there is no signature for \"--:+\" to continue")
	signature = signature " " trim(substr($0, 5))
	next
}

/^--:/ {
	line = trim(substr($0, 4))
	name = line
	sub(/[^a-z0-9_].*$/, "", name)
	start_entry(name)
	signature = line
	next
}

/^[ \t]*--/ { next }

/^[ \t\r]*$/ { next }

{
	if (n == 0)
		fail(here(), "there is text before the first statement")
	if (signature != "")
		parse_signature()
	add_line($0)
}

# One string literal per line. "??" is escaped because it could start a trigraph.
function literal(s, indent,    lines, count_of, i, out)
{
	gsub(/\\/, "\\\\&", s)
	gsub(/"/, "\\\"", s)
	gsub(/\t/, "\\t", s)
	while (sub(/\?\?/, "?\\?", s))
		;
	sub(/\n$/, "", s)
	count_of = split(s, lines, "\n")
	out = ""
	for (i = 1; i <= count_of; i++)
		out = out "\n" indent "\"" lines[i] (i < count_of || migrating ? "\\n" : "") "\""
	return out
}

function print_sql(i,    d, t)
{
	print "\t\t.sql = {"
	for (d = 1; d in dialects; d++) {
		t = text[i, dialects[d]]
		if (t != "")
			print "\t\t\t[DIALECT_" toupper(dialects[d]) "] =" literal(t, "\t\t\t\t") ","
	}
	print "\t\t},"
}

function print_header(    i)
{
	print "#ifndef STATEMENTS_H\n#define STATEMENTS_H\n\nenum stmt_id {"
	for (i = 1; i <= n; i++)
		print "\tQ_" toupper(names[i]) ", /* " file_of[i] " */"
	print "\tQ_COUNT\n};\n\n#endif"
}

# Whether a statement does nothing but insert its rows, so that SQLite may be given several at once.
function inserts_rows(i,    k, values)
{
	for (k = 1; k <= count[i, 2]; k++)
		values = values (k == 1 ? "VALUES (?" : ", ?") k
	values = values ")"
	return count[i, 1] == 0 && count[i, 2] > 0 && text[i, "sqlite"] ~ /^INSERT / &&
		substr(text[i, "sqlite"], length(text[i, "sqlite"]) - length(values) + 1) == values
}

function print_statements(    i)
{
	print "#include \"store/driver/db.h\"\n\nconst struct stmt statements[Q_COUNT] = {"
	for (i = 1; i <= n; i++) {
		print "\t[Q_" toupper(names[i]) "] = {"
		print "\t\t.name = \"" names[i] "\","
		print_sql(i)
		print "\t\t.nscalars = " count[i, 1] ","
		print "\t\t.nrows = " count[i, 2] ","
		if (inserts_rows(i))
			print "\t\t.is_insert = true,"
		if (types[i] != "")
			print "\t\t.types = { " types[i] " },"
		print "\t},"
	}
	print "};"
}

function print_migrations(    i)
{
	print "#include \"store/driver/db.h\"\n\nconst struct migration migrations[] = {"
	for (i = 1; i <= n; i++) {
		print "\t{"
		print "\t\t.version = " i ","
		print "\t\t.name = \"" names[i] "\","
		print_sql(i)
		print "\t},"
	}
	print "};\n\nconst int migration_count = " n + 0 ";"
}

END {
	if (failed)
		exit 1
	finish_statement()
	print "/* Generated by tools/sqlgen.awk from the .sql files of the store; edit those instead. */\n"
	if (make == "statements.h")
		print_header()
	else if (make == "statements.c")
		print_statements()
	else
		print_migrations()
}
