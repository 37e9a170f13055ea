package cli

import (
	"fmt"
	"strings"
)

// bashCompletion is the script for bash.
func bashCompletion(all []word) string {
	var b strings.Builder
	b.WriteString("# bash completion for seckill: source <(seckill completion bash)\n\n")
	commands, flags, values := tables(all, func(c choice) string { return c.name })
	b.WriteString(commands + flags + values)
	b.WriteString(`# The words before the cursor that are commands, one after the other.
__seckill_path() {
	local path='' i=1 word
	while ((i < COMP_CWORD)); do
		word=${COMP_WORDS[i]}
		if [[ $word == -* ]]; then
			if [[ ${COMP_WORDS[i + 1]-} == '=' ]]; then
				((i += 2))
			elif [[ $word != *=* ]] && __seckill_values "$path" "$word" >/dev/null; then
				((i += 1))
			fi
		elif __seckill_commands "$path" | grep -qxF -e "$word"; then
			path="${path:+$path }$word"
		fi
		((i += 1))
	done
	printf '%s' "$path"
}

_seckill() {
	local cur=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD - 1]} path kind words
	path=$(__seckill_path)
	if [[ $cur == '=' ]]; then
		cur=''
	elif [[ $flag == '=' ]]; then
		flag=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	COMPREPLY=()
	if [[ $flag == -* ]] && kind=$(__seckill_values "$path" "$flag"); then
		words=$kind
	elif [[ $cur == -* ]]; then
		words=$(__seckill_flags "$path"; __seckill_flags '')
	else
		words=$(__seckill_commands "$path")
	fi
	case $words in
	@file) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); compopt -o filenames 2>/dev/null || : ;;
	@dir) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); compopt -o filenames 2>/dev/null || : ;;
	@any) ;;
	*) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur") ;;
	esac
	return 0
}
complete -F _seckill seckill
`)
	return b.String()
}

// zshCompletion is the script for zsh.
func zshCompletion(all []word) string {
	var b strings.Builder
	b.WriteString("#compdef seckill\n# zsh completion for seckill: source <(seckill completion zsh), or a file _seckill in a folder of $fpath\n\n")
	commands, flags, values := tables(all, func(c choice) string {
		return strings.ReplaceAll(c.name, ":", `\:`) + ":" + firstSentence(c.help)
	})
	b.WriteString(commands + flags + values)
	b.WriteString(`_seckill() {
	local path_='' word cur=${words[CURRENT]} flag=${words[CURRENT-1]} kind
	local -i i=2
	local -a found
	while (( i < CURRENT )); do
		word=${words[i]}
		if [[ $word == -* ]]; then
			if [[ $word != *=* ]] && __seckill_values "$path_" "$word" >/dev/null; then (( i += 1 )); fi
		elif __seckill_commands "$path_" | grep -qE -e "^${word}(:|\$)"; then
			path_="${path_:+$path_ }$word"
		fi
		(( i += 1 ))
	done
	if [[ $cur == --*=* ]]; then
		flag=${cur%%=*}
		compset -P '*='
	fi
	if [[ $flag == -* ]] && kind=$(__seckill_values "$path_" "$flag"); then
		found=("${(@f)kind}")
	elif [[ $cur == -* ]]; then
		found=("${(@f)$(__seckill_flags "$path_"; __seckill_flags '')}")
	else
		found=("${(@f)$(__seckill_commands "$path_")}")
	fi
	case ${found[1]-} in
	@file) _files ;;
	@dir) _files -/ ;;
	@any|'') ;;
	*) _describe seckill found ;;
	esac
}
if [[ ${funcstack[1]-} == _seckill ]]; then
	_seckill "$@"
else
	compdef _seckill seckill
fi
`)
	return b.String()
}

// tables gives the three functions that bash and zsh ask: what may follow some
// commands, their flags, and what the value of a flag is (status 1 for one that takes
// none). Each prints lines.
func tables(all []word, show func(choice) string) (commands, flags, values string) {
	var c, f, v strings.Builder
	for _, w := range all {
		c.WriteString(tableLine(w.path, follows(w, show)))
		var own []string
		for _, flag := range w.flags {
			own = append(own, show(flag.choice))
			if lines := valueLines(flag); lines != nil {
				v.WriteString(tableLine(w.path+" "+flag.name, lines))
			}
		}
		f.WriteString(tableLine(w.path, own))
	}
	return "__seckill_commands() {\n\tcase $1 in\n" + c.String() + "\tesac\n}\n\n",
		"__seckill_flags() {\n\tcase $1 in\n" + f.String() + "\tesac\n}\n\n",
		"__seckill_values() {\n\tcase \"$1 $2\" in\n" + v.String() + "\t*)\n\t\t[ -n \"$1\" ] || return 1\n\t\t__seckill_values '' \"$2\" ;;\n\tesac\n}\n\n"
}

func tableLine(key string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	shown := make([]string, len(lines))
	for i, line := range lines {
		shown[i] = quoted(line)
	}
	return fmt.Sprintf("\t%s) printf '%%s\\n' %s ;;\n", quoted(key), strings.Join(shown, " "))
}

// follows is what may stand after a command: further commands, the values of its
// argument, or files; a command without any of them offers its flags.
func follows(w word, show func(choice) string) []string {
	var lines []string
	for _, c := range w.commands {
		lines = append(lines, show(c))
	}
	lines = append(lines, w.values...)
	switch {
	case len(lines) > 0:
	case w.files:
		lines = []string{"@file"}
	default:
		for _, f := range w.flags {
			lines = append(lines, show(f.choice))
		}
	}
	return lines
}

// valueLines is what may be the value of a flag, nil for one that takes none.
func valueLines(f flagChoice) []string {
	switch f.form {
	case noValue:
		return nil
	case listValue:
		return f.values
	}
	return []string{"@" + string(f.form)}
}

// firstSentence is a help text short enough for a list, in one line.
func firstSentence(help string) string {
	text, _, _ := strings.Cut(strings.Join(strings.Fields(help), " "), ". ")
	return strings.TrimSuffix(text, ".")
}
