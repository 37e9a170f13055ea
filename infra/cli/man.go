package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

type manCmd struct{}

// Run prints the page. It is made from the command line itself.
func (*manCmd) Run(c console) error {
	parser, err := newParser(&program{}, c)
	if err != nil {
		return fmt.Errorf("build the command line: %w", err)
	}
	_, err = fmt.Fprint(c.out, manPage(parser.Model))
	return err
}

// manPage is the manual page of section 1 in roff.
func manPage(model *kong.Application) string {
	var b strings.Builder
	b.WriteString(`.TH SECKILL 1 "" "seckill" "User Commands"
.SH NAME
seckill \- an event\-sourced flash\-sale engine
.SH SYNOPSIS
.B seckill
.I command
.RI [ flag ...]
.SH DESCRIPTION
One program runs a flash sale: a gate in Redis decides who gets a unit, PostgreSQL keeps an
append\-only log of what happened, and what buyers and operators see is folded from that log.
What a process does is chosen by its command; several of them work on the same stores.
.PP
With no store configured a command starts private ones below its data folder.
.SH COMMANDS
`)
	for _, leaf := range model.Leaves(true) {
		if len(leaf.Children) == 0 {
			manCommand(&b, leaf)
		}
	}
	b.WriteString(".SH SETTINGS\nEvery command takes them, as a flag, else from the environment, else from the file of\n.BR \\-\\-config .\n")
	for _, f := range model.Flags {
		if !f.Hidden {
			manFlag(&b, f)
		}
	}
	b.WriteString(`.SH EXIT STATUS
.TP
.B 0
good
.TP
.B 1
failure
.TP
.B 2
usage: the command line or a setting cannot work
.TP
.B 3
the check found something, such as drift, a broken chain or a broken invariant
.SH FILES
.TP
.I .seckill
The data folder: private stores, the random secret, seals and statements.
`)
	return b.String()
}

// manCommand writes one command with its arguments and flags.
func manCommand(b *strings.Builder, n *kong.Node) {
	summary := n.Path()
	for _, p := range n.Positional {
		summary += " " + p.Summary()
	}
	fmt.Fprintf(b, ".SS %s\n%s\n", roffArgument(summary), roff(n.Help))
	for _, p := range n.Positional {
		fmt.Fprintf(b, ".TP\n.I %s\n%s\n", roffArgument("<"+p.Name+">"), roff(p.Help))
	}
	for _, f := range n.Flags {
		if !f.Hidden && f.Name != "help" {
			manFlag(b, f)
		}
	}
}

// manFlag writes one flag, its variable and what it means.
func manFlag(b *strings.Builder, f *kong.Flag) {
	shown := "--" + f.Name
	if f.Tag.Negatable != "" {
		shown = "--[no-]" + f.Name
	}
	if !f.IsBool() {
		shown += "=" + cmp.Or(f.PlaceHolder, strings.ToUpper(f.Name))
		if f.IsSlice() {
			shown += ",..."
		}
	}
	if len(f.Envs) > 0 {
		shown += ", " + strings.Join(f.Envs, ", ")
	}
	fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roffArgument(shown), roff(f.Help))
}

// roff is text as one line of roff that says just that.
func roff(text string) string {
	var b strings.Builder
	for i, r := range strings.Join(strings.Fields(text), " ") {
		switch {
		case i == 0 && (r == '.' || r == '\''):
			b.WriteString(`\&` + string(r))
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// roffArgument is text as one argument of a macro.
func roffArgument(text string) string {
	return `"` + strings.ReplaceAll(roff(text), `"`, `""`) + `"`
}
