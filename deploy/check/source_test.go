package check

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the checkout.
const root = "../.."

// read gives a file of the checkout.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// settings lists the variables that the program reads, from the tags of its settings.
func settings(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "infra/config/*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(` env:"(SECKILL_[A-Z0-9_]+)"`).FindAllStringSubmatch(string(text), -1) {
			all = append(all, m[1])
		}
	}
	if len(all) < 40 {
		t.Fatalf("only %d settings were found: %v", len(all), all)
	}
	return all
}

// roles lists the roles of a process, from where the program names them.
func roles(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^\trole[A-Z]\w+ += "([a-z]+)"`).FindAllStringSubmatch(read(t, "infra/cli/parts.go"), -1) {
		all = append(all, m[1])
	}
	slices.Sort(all)
	if len(all) != 5 {
		t.Fatalf("found the roles %v", all)
	}
	return all
}

// rolesOf gives the roles that a command line serves, none when it is no serve.
func rolesOf(t *testing.T, command []string) []string {
	t.Helper()
	i := slices.Index(command, "--roles")
	if len(command) == 0 || command[0] != "serve" {
		return nil
	}
	if i < 0 || i+1 == len(command) {
		t.Fatalf("%v names no roles", command)
	}
	return strings.Split(command[i+1], ",")
}

// servedOnce checks that each role is served by exactly one of some services, and that
// nothing else is served.
func servedOnce(t *testing.T, serving map[string][]string) {
	t.Helper()
	var all []string
	for _, served := range serving {
		all = append(all, served...)
	}
	slices.Sort(all)
	if want := roles(t); !slices.Equal(all, want) {
		t.Errorf("%v serve the roles %v, want each of %v by one of them", serving, all, want)
	}
}

// knownSettings checks that every SECKILL_ variable among names is a setting.
func knownSettings(t *testing.T, where string, names []string) {
	t.Helper()
	known := settings(t)
	for _, name := range names {
		if strings.HasPrefix(name, "SECKILL_") && !slices.Contains(known, name) {
			t.Errorf("%s sets %s, which is no setting", where, name)
		}
	}
}
