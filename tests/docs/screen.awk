# screen.awk - computes the screen of a terminal from its output. Supports only what pawl writes: carriage return,
# cursor up, erase to the end of the line or of the screen. A line that starts with the byte 1 is not output: it says
# that the step with this number has ended, and with which status; the step's screen is written to dir/NUMBER.seen.
function put(text) {
	screen[row] = text
	if (row > last)
		last = row
	row++
}
function done(step,    i, file) {
	file = dir "/" step ".seen"
	printf "" >file
	while (last > 0 && screen[last] == "")
		last--
	for (i = 1; i <= last; i++)
		print screen[i] >file
	close(file)
	row = 1
	last = 0
}
BEGIN { row = 1 }
/^\001/ {
	split(substr($0, 2), end, " ")
	print end[2] + 0 >(dir "/" end[1] ".status")
	done(end[1])
	next
}
{
	sub(/\r$/, "")
	text = ""
	rest = $0
	while (match(rest, /\033\[[0-9]*[A-Za-z]|\r/)) {
		text = text substr(rest, 1, RSTART - 1)
		sequence = substr(rest, RSTART, RLENGTH)
		rest = substr(rest, RSTART + RLENGTH)
		if (sequence == "\r")
			text = ""
		else if (sequence ~ /A$/)
			row = row > substr(sequence, 3) + 0 ? row - substr(sequence, 3) : 1
		else if (sequence ~ /J$/)
			last = row - 1
	}
	put(text rest)
}
