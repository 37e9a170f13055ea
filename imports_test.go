package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The arrows between our packages, as they are drawn in the README. A new rule
// is a line here.
const module = "seckill"

// drivers talk to stores and brokers.
var drivers = []string{
	"database/sql", "github.com/jackc", "github.com/redis", "github.com/alicebob",
	"github.com/ThreeDotsLabs", "github.com/IBM/sarama", "github.com/twmb",
}

// ours is every package of this module.
var ours = []string{module}

// rule says what the packages at and below from may not import.
type rule struct {
	from string
	to   []string
	// directly limits the rule to what a file itself imports; otherwise it also
	// holds for what comes along through other packages of ours.
	directly bool
	because  string
}

var rules = []rule{
	{from: "domain", to: slices.Concat(ours, drivers, thirdParties), because: "the rules of selling depend on nothing"},
	{from: "eventstore", to: in("domain", "commands", "projections", "api"), because: "the store knows names and bytes, not what an event means"},
	{from: "commands", to: slices.Concat(in("api", "projections", "infra"), drivers), because: "commands ask for ports"},
	{from: "projections", to: append(in("commands", "api"), "github.com/redis", "github.com/alicebob"), because: "read models live on the log alone"},
	{from: "api", to: slices.Concat(in("eventstore/pgstore", "infra/redisgate", "infra/memgate", "infra/pg", "infra/bus", "infra/embedded"), drivers),
		directly: true, because: "HTTP hands over to commands and projections"},
	{from: "api/client", to: slices.Concat(ours, thirdParties), because: "whoever buys from a program of their own takes it along as it is"},
	{from: "infra", to: in("infra/cli"), because: "only main hands over to the command line"},
}

// thirdParties stands for every module but ours and the standard library.
var thirdParties = []string{"*.*/"}

func in(folders ...string) []string {
	var paths []string
	for _, f := range folders {
		paths = append(paths, path.Join(module, f))
	}
	return paths
}

// testSupport is for tests: no package that ships may import it.
var testSupport = in("infra/testenv", "infra/pg/pgtest", "infra/cli/e2e", "commands/gatetest", "eventstore/storetest",
	"eventstore/memstore", "infra/simulation", "infra/mutants")

func TestImportsKeepTheArrows(t *testing.T) {
	graph, err := readImports(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(graph) < 10 {
		t.Fatalf("only %d packages were found; the test looks in the wrong place", len(graph))
	}
	for _, problem := range check(graph, rules) {
		t.Error(problem)
	}
}

func TestOnlyTestsImportTestSupport(t *testing.T) {
	graph, err := readImports(".")
	if err != nil {
		t.Fatal(err)
	}
	for from, imports := range graph {
		if slices.Contains(testSupport, from) {
			continue
		}
		for _, to := range imports {
			if slices.Contains(testSupport, to) {
				t.Errorf("%s imports %s outside of tests", from, to)
			}
		}
	}
}

func TestTheDomainHasNoClockAndNoDice(t *testing.T) {
	forbidden := map[string][]string{
		"time":         {"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep"},
		"math/rand":    nil, // nil is all of it
		"math/rand/v2": nil, "crypto/rand": nil, "os": nil, "net": nil, "net/http": nil,
	}
	err := walkGo("domain", func(file string, f *ast.File) error {
		names := map[string]string{} // local name → import path
		for _, spec := range f.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if only, found := forbidden[p]; found && only == nil {
				t.Errorf("%s imports %s", file, p)
			}
			names[path.Base(p)] = p
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(forbidden[names[x.Name]], sel.Sel.Name) {
					t.Errorf("%s uses %s.%s; times are passed in", file, x.Name, sel.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheImportTestFindsBrokenArrows(t *testing.T) {
	graph := map[string][]string{
		"seckill/domain":           {"fmt", "seckill/eventstore"},
		"seckill/domain/sub":       {"github.com/google/uuid"},
		"seckill/commands":         {"seckill/eventstore"},
		"seckill/eventstore":       {"github.com/jackc/pgx/v5"},
		"seckill/api":              {"seckill/projections"},
		"seckill/projections":      {"github.com/jackc/pgx/v5"},
		"seckill/projections/view": {"seckill/helper"},
		"seckill/helper":           {"github.com/redis/go-redis/v9"},
		"seckill/infra/bus":        {"seckill/infra/cli", "seckill/infra/obs"},
		"seckill/infra/cli":        {"seckill/infra/bus", "seckill/api"},
	}
	var got []string
	for _, p := range check(graph, rules) {
		got = append(got, strings.Fields(p)[0])
	}
	want := []string{"seckill/commands", "seckill/domain", "seckill/domain", "seckill/domain/sub", "seckill/infra/bus", "seckill/projections/view"}
	if !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("packages with a broken arrow: got %v want %v", got, want)
	}
}

// check returns a sentence per broken arrow.
func check(graph map[string][]string, rules []rule) []string {
	var problems []string
	for _, r := range rules {
		for _, from := range slices.Sorted(maps.Keys(graph)) {
			if !below(from, path.Join(module, r.from)) || below(from, module+"/infra/cli") {
				continue
			}
			reached := map[string]string{}
			reach(graph, from, from, r.directly, reached)
			for _, to := range slices.Sorted(maps.Keys(reached)) {
				if forbids(r, to) {
					problems = append(problems, fmt.Sprintf("%s imports %s through %s, but %s", from, to, reached[to], r.because))
				}
			}
		}
	}
	return problems
}

// reach notes all that from imports, and the package whose file does so.
func reach(graph map[string][]string, from, through string, directly bool, reached map[string]string) {
	for _, to := range graph[through] {
		if _, seen := reached[to]; seen || to == from {
			continue
		}
		reached[to] = through
		if !directly {
			reach(graph, from, to, false, reached)
		}
	}
}

func forbids(r rule, to string) bool {
	own := path.Join(module, r.from)
	return slices.ContainsFunc(r.to, func(p string) bool {
		if p == thirdParties[0] {
			first, _, _ := strings.Cut(to, "/")
			return strings.Contains(first, ".")
		}
		// Its own folder is open to a package, unless the rule names a part of it.
		return below(to, p) && (below(p, own) || !below(to, own))
	})
}

func below(p, folder string) bool { return p == folder || strings.HasPrefix(p, folder+"/") }

// readImports maps each package to what its files, without tests, import.
func readImports(root string) (map[string][]string, error) {
	graph := map[string][]string{}
	err := walkGo(root, func(file string, f *ast.File) error {
		pkg := path.Join(module, filepath.ToSlash(filepath.Dir(file)))
		graph[pkg] = append(graph[pkg], []string{}...)
		for _, spec := range f.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			graph[pkg] = append(graph[pkg], p)
		}
		return nil
	})
	return graph, err
}

// walkGo visits the Go files below root that are no tests.
func walkGo(root string, visit func(file string, f *ast.File) error) error {
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		return visit(p, f)
	})
}
