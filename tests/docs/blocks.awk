# blocks.awk - extracts the fenced blocks of a page: writes each to a file in `dir` and prints a line "NUMBER LANGUAGE
# LINE" for it, LINE being where its text starts. A block without a language is "text".
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
