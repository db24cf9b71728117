# steps.awk - the commands of a session and what it shows below each: "$ " begins a command, "> " goes on with it, all
# else is output. Steps are counted on from `first`; dir/NUMBER.command and dir/NUMBER.shown are written, and a line
# "NUMBER LINE" is printed for each, LINE being that of the page on which the command stands.
function begin(text) {
	step = first++
	command = dir "/" step ".command"
	shown = dir "/" step ".shown"
	printf "%s\n", text >command
	printf "" >shown
	print step, line + NR - 1
	in_command = 1
}
/^\$ / { begin(substr($0, 3)); next }
step == "" { print "a session begins with a command" >"/dev/stderr"; exit 1 }
in_command && /^> ?/ { sub(/^> ?/, ""); print >command; next }
{ in_command = 0; print >shown }
