# steps.awk - extracts the commands of a session and the output shown below each: "$ " starts a command, "> "
# continues it, all other lines are output. Steps are numbered from `first`; writes dir/NUMBER.command and
# dir/NUMBER.shown, and prints a line "NUMBER LINE" for each, LINE being the command's line on the page.
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
