package cli

import (
	"fmt"
	"strings"
)

// fishCompletion is the script for fish.
func fishCompletion(all []word) string {
	var b strings.Builder
	b.WriteString("# fish completion for seckill: seckill completion fish | source\n\n")
	b.WriteString("set -g __seckill_paths")
	for _, w := range all[1:] {
		b.WriteString(" " + quoted(w.path))
	}
	b.WriteString(`

# The words before the cursor that are commands are exactly these.
function __seckill_at
	set -l path ''
	for word in (commandline -opc)[2..-1]
		set -l longer (string trim -- "$path $word")
		contains -- $longer $__seckill_paths; and set path $longer
	end
	test "$path" = "$argv[1]"
end

complete -c seckill -f
`)
	for _, w := range all {
		at := fmt.Sprintf("complete -c seckill -n \"__seckill_at %s\"", quoted(w.path))
		for _, c := range w.commands {
			fmt.Fprintf(&b, "%s -a %s -d %s\n", at, quoted(c.name), quoted(firstSentence(c.help)))
		}
		if len(w.values) > 0 {
			fmt.Fprintf(&b, "%s -a %s\n", at, quoted(strings.Join(w.values, " ")))
		}
		if w.files {
			b.WriteString(at + " -F\n")
		}
		if w.path == "" {
			at = "complete -c seckill" // settings stand after any command
		}
		for _, f := range w.flags {
			fmt.Fprintf(&b, "%s -l %s -d %s%s\n", at, strings.TrimPrefix(f.name, "--"), quoted(firstSentence(f.help)), fishValue(f))
		}
	}
	return b.String()
}

// fishValue tells fish what a flag's value is.
func fishValue(f flagChoice) string {
	switch f.form {
	case noValue:
		return ""
	case listValue:
		return " -x -a " + quoted(strings.Join(f.values, " "))
	case fileValue:
		return " -r -F"
	case dirValue:
		return " -x -a '(__fish_complete_directories)'"
	}
	return " -x"
}
