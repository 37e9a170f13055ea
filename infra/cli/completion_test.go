package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"seckill/infra/testenv"
)

// script writes the completion of a shell to a file.
func script(t *testing.T, shell string) string {
	t.Helper()
	testenv.Program(t, shell, shell)
	code, out, errs := try(t, "completion", shell)
	if code != exitGood || errs != "" {
		t.Fatalf("exit code %d, stderr %q", code, errs)
	}
	file := filepath.Join(t.TempDir(), "seckill."+shell)
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// askShell runs a shell and gives the lines it prints.
func askShell(t *testing.T, dir, shell string, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), shell, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", shell, err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// offers are lines of the three shells: what is written, its last word being typed, and
// what must be and what must not be offered.
var offers = []struct {
	line     string
	yes, not []string
}{
	{"seckill s", []string{"sale", "serve", "switch"}, []string{"demo", "create"}},
	{"seckill sale c", []string{"create", "confirm", "close"}, []string{"list", "completion"}},
	{"seckill sale create --st", []string{"--stock", "--strategy"}, []string{"--sku"}},
	{"seckill sale create --strategy ", []string{"postgres", "redis-sync", "redis-async"}, []string{"--stock"}},
	{"seckill sale create --title x --strategy r", []string{"redis-sync", "redis-async"}, []string{"postgres"}},
	{"seckill switch on p", []string{"pause_purchases", "pause_noncore"}, []string{"force_ended"}},
	{"seckill serve --redis-", []string{"--redis-url", "--redis-lanes"}, []string{"--roles"}},
	{"seckill --database sale mig", []string{"migrate"}, []string{"create"}},
	{"seckill audit verify-proof pro", []string{"proof.json"}, []string{"verify"}},
}

func compare(t *testing.T, line string, got, yes, not []string) {
	t.Helper()
	for _, w := range yes {
		if !slices.Contains(got, w) {
			t.Errorf("%q: %s is not offered, got %q", line, w, got)
		}
	}
	for _, w := range not {
		if slices.Contains(got, w) {
			t.Errorf("%q: %s is offered, got %q", line, w, got)
		}
	}
}

// folder holds a file that a completion may offer.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "proof.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestBashCompletes(t *testing.T) {
	file, dir := script(t, "bash"), folder(t)
	inBash := func(words ...string) []string {
		return askShell(t, dir, "bash", append([]string{"--norc", "-c",
			`set -eu; source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _seckill; printf '%s\n' "${COMPREPLY[@]-}"`, "bash", file}, words...)...)
	}
	for _, o := range offers {
		compare(t, o.line, inBash(strings.Split(o.line, " ")...), o.yes, o.not)
	}
	// Readline parts a word at "=".
	compare(t, "--strategy=", inBash("seckill", "sale", "create", "--strategy", "="), []string{"postgres"}, []string{"--stock"})
	compare(t, "--strategy=p", inBash("seckill", "sale", "create", "--strategy", "=", "p"), []string{"postgres"}, []string{"redis-sync"})
	compare(t, "after =", inBash("seckill", "--namespace", "=", "sale", "mig"), []string{"migrate"}, nil)
}

func TestFishCompletes(t *testing.T) {
	file, dir := script(t, "fish"), folder(t)
	for _, o := range offers {
		if o.line == "seckill --database sale mig" {
			continue // fish takes the value for a command here
		}
		var got []string
		for _, line := range askShell(t, dir, "fish", "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, file, o.line) {
			word, _, _ := strings.Cut(line, "\t")
			got = append(got, word)
		}
		compare(t, o.line, got, o.yes, o.not)
	}
}

// zsh hands what it offers to functions of its own, which print it here.
func TestZshCompletes(t *testing.T) {
	file, dir := script(t, "zsh"), folder(t)
	const harness = `
compdef() { :; }
compset() { :; }
_files() { print -l -- *(N); }
_describe() { local w; for w in "${(@P)2}"; do w=${w%%:*}; [[ $w == ${words[CURRENT]}* ]] && print -r -- $w; done; :; }
source $1; shift
words=("$@"); CURRENT=$#
_seckill`
	for _, o := range offers {
		got := askShell(t, dir, "zsh", append([]string{"-f", "-c", harness, "zsh", file}, strings.Split(o.line, " ")...)...)
		compare(t, o.line, got, o.yes, o.not)
	}
}

func TestCompletionsAndManualKnowEveryCommandAndFlag(t *testing.T) {
	parser, err := newParser(&program{}, console{})
	if err != nil {
		t.Fatal(err)
	}
	_, manual, _ := try(t, "man")
	manual = strings.ReplaceAll(manual, `\-`, "-")
	texts := map[string]string{"man": manual}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		_, texts[shell], _ = try(t, "completion", shell)
	}
	found := 0
	err = kong.Visit(parser.Model, func(n kong.Visitable, next kong.Next) error {
		name := ""
		switch n := n.(type) {
		case *kong.Node:
			name = n.Name
		case *kong.Flag:
			name = n.Name
		}
		found++
		for where, text := range texts {
			if !strings.Contains(text, name) {
				t.Errorf("%s: %s is missing", where, name)
			}
		}
		return next(nil)
	})
	if err != nil || found < 100 {
		t.Fatalf("%d commands and flags were looked at: %v", found, err)
	}
}

func TestTheManualPageIsFlawless(t *testing.T) {
	_, page, _ := try(t, "man")
	file := filepath.Join(t.TempDir(), "seckill.1")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	testenv.Program(t, "groff-base", "groff", "mandoc")
	for _, checker := range [][]string{
		{"groff", "-ww", "-b", "-z", "-man", "-Tutf8", file},
		{"mandoc", "-T", "lint", "-W", "error", file},
	} {
		if _, err := exec.LookPath(checker[0]); err != nil {
			continue
		}
		out, err := exec.CommandContext(t.Context(), checker[0], checker[1:]...).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", checker[0], err, out)
		}
	}
}

func TestTextIsNeverTakenForRoff(t *testing.T) {
	for text, want := range map[string]string{
		".TH x":   `\&.TH x`,
		"a\\b -c": `a\eb \-c`,
		"'a\n.b":  `\&'a .b`,
		"1 … 2 汉": `1 \[u2026] 2 \[u6C49]`,
	} {
		if got := roff(text); got != want {
			t.Errorf("roff(%q) = %q, want %q", text, got, want)
		}
	}
}
