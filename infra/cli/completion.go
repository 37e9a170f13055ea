package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: ${enum}."`
}

// Run prints the script. It is made from the command line itself, so that it knows
// what this program knows.
func (s *completionCmd) Run(c console) error {
	parser, err := newParser(&program{}, c)
	if err != nil {
		return fmt.Errorf("build the command line: %w", err)
	}
	write := map[string]func([]word) string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[s.Shell]
	_, err = fmt.Fprint(c.out, write(wordsOf(parser.Model.Node, "")))
	return err
}

// word is one place of the command line with what may be written there.
type word struct {
	// path are the words that lead there, "" for the program itself.
	path     string
	commands []choice
	flags    []flagChoice
	// values may follow as the first argument; files: names of files may.
	values []string
	files  bool
}

// choice is a thing to write and what it means.
type choice struct{ name, help string }

// flagChoice is a flag, with both dashes. One that takes no value has no form.
type flagChoice struct {
	choice
	form   valueForm
	values []string
}

// valueForm is what the value of a flag is.
type valueForm string

const (
	noValue   valueForm = ""
	anyValue  valueForm = "any"
	fileValue valueForm = "file"
	dirValue  valueForm = "dir"
	listValue valueForm = "list" // some of the flag's values
)

// wordsOf lists a command and all below it.
func wordsOf(node *kong.Node, path string) []word {
	here := word{path: path}
	for _, f := range node.Flags {
		if !f.Hidden {
			here.flags = append(here.flags, flagChoices(f)...)
		}
	}
	if len(node.Positional) > 0 {
		first := node.Positional[0]
		here.values = valuesOf(first)
		here.files = first.Name == "file"
	}
	all := []word{here}
	for _, child := range node.Children {
		if child.Hidden {
			continue
		}
		all[0].commands = append(all[0].commands, choice{child.Name, child.Help})
		all = append(all, wordsOf(child, strings.TrimSpace(path+" "+child.Name))...)
	}
	return all
}

// flagChoices gives a flag, and its opposite where it has one.
func flagChoices(f *kong.Flag) []flagChoice {
	c := flagChoice{choice: choice{"--" + f.Name, f.Help}, form: anyValue, values: valuesOf(f.Value)}
	placeholder := strings.TrimSuffix(f.PlaceHolder, "…")
	switch {
	case f.IsBool():
		c.form = noValue
	case len(c.values) > 0:
		c.form = listValue
	case placeholder == "FILE":
		c.form = fileValue
	case placeholder == "DIR":
		c.form = dirValue
	}
	all := []flagChoice{c}
	if f.Tag.Negatable != "" {
		c.name = "--no-" + f.Name
		all = append(all, c)
	}
	return all
}

// valuesOf lists what a value may be, where the command line knows it: by its enum, or
// by the tag complete of what a command judges itself.
func valuesOf(v *kong.Value) []string {
	known := v.Enum
	if known == "" {
		known = v.Tag.Get("complete")
	}
	var all []string
	for value := range strings.SplitSeq(known, ",") {
		if value != "" {
			all = append(all, value)
		}
	}
	return all
}

// quoted is text as every one of the shells takes it for one word.
func quoted(text string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(text, `\`, " "), "'", "’") + "'"
}
