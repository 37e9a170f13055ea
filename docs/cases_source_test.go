package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// contracts hold tests that packages share: a test has those of the ones it calls.
var contracts = []string{"commands/gatetest", "eventstore/storetest"}

var (
	caseNumber = regexp.MustCompile(`B\d\d`)
	caseFirst  = regexp.MustCompile(`^B\d\d[: ]`)
)

// sourceFunc is a function of the module as far as cases go.
type sourceFunc struct {
	file  string
	whole []string // the cases that its own name or comment carries
	parts []string // the cases that texts in it begin with: names of subtests
	calls []string // the functions it may call, as "folder name"
}

// caseTests finds the tests of each case in the sources below root: for each number
// texts as the page has them.
func caseTests(t *testing.T, root fs.FS) map[string][]string {
	t.Helper()
	funcs := map[string]*sourceFunc{}
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, ".go") && slices.Contains(contracts, path.Dir(file)):
			return readFuncs(root, file, funcs)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for key, f := range funcs {
		folder, name, _ := strings.Cut(key, " ")
		if !strings.HasPrefix(name, "Test") || !strings.HasSuffix(f.file, "_test.go") {
			continue
		}
		for _, number := range f.whole {
			found[number] = append(found[number], caseCell(f.file, name))
		}
		for _, number := range partsOf(funcs, folder, key, map[string]bool{}) {
			if !slices.Contains(f.whole, number) {
				found[number] = append(found[number], caseCell(f.file, name+"/"+number))
			}
		}
	}
	for number, cells := range found {
		slices.Sort(cells)
		found[number] = slices.Compact(cells)
	}
	return found
}

func caseCell(file, test string) string { return "[`" + file + "`](../" + file + ") " + test }

// partsOf gives the cases of the subtests that a function runs, in its own package and
// in contracts.
func partsOf(funcs map[string]*sourceFunc, home, key string, seen map[string]bool) []string {
	f := funcs[key]
	folder, _, _ := strings.Cut(key, " ")
	if f == nil || seen[key] || folder != home && !slices.Contains(contracts, folder) {
		return nil
	}
	seen[key] = true
	parts := slices.Clone(f.parts)
	for _, called := range f.calls {
		parts = append(parts, partsOf(funcs, home, called, seen)...)
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

func readFuncs(root fs.FS, file string, funcs map[string]*sourceFunc) error {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments)
	if err != nil {
		return err
	}
	imports := map[string]string{}
	for _, i := range parsed.Imports {
		if folder, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "seckill/"); ok {
			imports[path.Base(folder)] = folder
		}
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Body != nil {
			funcs[path.Dir(file)+" "+f.Name.Name] = readFunc(file, f, imports)
		}
	}
	return nil
}

func readFunc(file string, f *ast.FuncDecl, imports map[string]string) *sourceFunc {
	s := &sourceFunc{file: file, whole: caseNumber.FindAllString(f.Name.Name+" "+f.Doc.Text(), -1)}
	slices.Sort(s.whole)
	s.whole = slices.Compact(s.whole)
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if from, ok := n.X.(*ast.Ident); ok && imports[from.Name] != "" {
				s.calls = append(s.calls, imports[from.Name]+" "+n.Sel.Name)
			}
		case *ast.Ident:
			s.calls = append(s.calls, path.Dir(file)+" "+n.Name)
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && caseFirst.MatchString(text) {
				s.parts = append(s.parts, text[:3])
			}
		}
		return true
	})
	return s
}
