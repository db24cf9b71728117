# blocks.awk - takes the fenced blocks out of a page: each goes into a file of its own in `dir`, and a line
# "NUMBER LANGUAGE LINE" (where its text begins) is printed for it. A block without a language is "text".
/^ *```/ {
	if (open) {
		close(file)
		open = 0
		next
	}
	open = 1
	indent = index($0, "`") - 1
	language = substr($0, indent + 4)
	sub(/ *$/, "", language)
	file = sprintf("%s/%03d.block", dir, ++n)
	printf "" >file
	print n, (language == "" ? "text" : language), NR + 1
	next
}
open { print substr($0, indent + 1) >file }
END {
	if (open) {
		print "a block has no end" >"/dev/stderr"
		exit 1
	}
}
