package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What only the holder of a key can make is compared in constant time: whoever times
// the answers learns nothing of it. A test that measures would be wrong now and then;
// this one reads the sources.
func TestWhatAKeyMakesIsComparedInConstantTime(t *testing.T) {
	folders := map[string][]*ast.File{}
	err := filepath.WalkDir(".", func(file string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		folders[filepath.Dir(file)] = append(folders[filepath.Dir(file)], parsed)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	makers := 0
	for folder, files := range folders {
		made := macMakers(files)
		makers += len(made)
		for _, where := range loose(files, made) {
			t.Errorf("%s: %s compares a MAC as any text; use hmac.Equal or subtle.ConstantTimeCompare", folder, where)
		}
	}
	if makers < 8 {
		t.Errorf("only %d functions make MACs: the test looks in the wrong place", makers)
	}
}

// macMakers names the functions and methods of a package that give what hmac made,
// whether they call it themselves or one that does.
func macMakers(files []*ast.File) []string {
	made := []string{"hmac.New"}
	for again := true; again; {
		again = false
		for _, f := range functions(files) {
			if f.Type.Results == nil || slices.Contains(made, f.Name.Name) || !calls(f.Body, made) || !givesBytes(f.Type.Results) {
				continue
			}
			made, again = append(made, f.Name.Name), true
		}
	}
	return made[1:]
}

// givesBytes tells whether a function gives bytes or a text, and no error beside it:
// what gives one of those has compared or has used what it made.
func givesBytes(results *ast.FieldList) bool {
	if len(results.List) != 1 {
		return false
	}
	switch kind := results.List[0].Type.(type) {
	case *ast.ArrayType:
		return true
	case *ast.Ident:
		return kind.Name == "string"
	}
	return false
}

// loose names the functions that compare what a maker gives by == or by an equality
// that stops at the first difference.
func loose(files []*ast.File, made []string) []string {
	var found []string
	for _, f := range functions(files) {
		known := append(slices.Clone(made), heldIn(f.Body, made)...)
		ast.Inspect(f.Body, func(n ast.Node) bool {
			bad := false
			switch n := n.(type) {
			case *ast.BinaryExpr:
				bad = (n.Op == token.EQL || n.Op == token.NEQ) && (names(n.X, known) || names(n.Y, known))
			case *ast.CallExpr:
				bad = slices.Contains([]string{"bytes.Equal", "bytes.Compare", "slices.Equal", "strings.EqualFold", "reflect.DeepEqual"}, nameOf(n.Fun)) &&
					slices.ContainsFunc(n.Args, func(a ast.Expr) bool { return names(a, known) })
			}
			if bad {
				found = append(found, f.Name.Name)
			}
			return true
		})
	}
	return found
}

// heldIn names the variables of a function that hold what a maker gave.
func heldIn(body *ast.BlockStmt, made []string) []string {
	var held []string
	ast.Inspect(body, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) {
			for i := range a.Rhs {
				if id, ok := a.Lhs[i].(*ast.Ident); ok && calls(a.Rhs[i], made[:]) {
					held = append(held, id.Name)
				}
			}
		}
		return true
	})
	return held
}

func functions(files []*ast.File) []*ast.FuncDecl {
	var all []*ast.FuncDecl
	for _, file := range files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				all = append(all, f)
			}
		}
	}
	return all
}

// nameOf gives pkg.F of a call into a package, and the bare name of any other.
func nameOf(fun ast.Expr) string {
	switch fun := fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		if x, ok := fun.X.(*ast.Ident); ok && slices.Contains([]string{"hmac", "bytes", "slices", "strings", "reflect"}, x.Name) {
			return x.Name + "." + fun.Sel.Name
		}
		return fun.Sel.Name
	}
	return ""
}

func calls(n ast.Node, made []string) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		found = found || ok && slices.Contains(made, nameOf(c.Fun))
		return !found
	})
	return found
}

// names tells whether an expression is what a maker gives, or a variable that holds it:
// not where it is handed to a function that may judge it.
func names(e ast.Expr, known []string) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return slices.Contains(known, e.Name)
	case *ast.CallExpr:
		return slices.Contains(known, nameOf(e.Fun)) || slices.Contains([]string{"string"}, nameOf(e.Fun)) && names(e.Args[0], known)
	case *ast.SliceExpr:
		return names(e.X, known)
	case *ast.ParenExpr:
		return names(e.X, known)
	}
	return false
}

func TestALooseComparisonOfAMACIsFound(t *testing.T) {
	const source = `package p
func mac(key, text []byte) []byte { m := hmac.New(sha256.New, key); m.Write(text); return m.Sum(nil) }
func hexMAC(text string) string { return hex.EncodeToString(mac(nil, []byte(text))) }
func direct(a string) bool { return a == hexMAC("x") }
func held(a []byte) bool { want := mac(nil, a); return bytes.Equal(a, want[:4]) }
func asText(a string) bool { return string(mac(nil, nil)) != a }
func good(a []byte) bool { return hmac.Equal(a, mac(nil, a)) && len(mac(nil, a)) == 4 }
`
	parsed, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	files := []*ast.File{parsed}
	if got := strings.Join(loose(files, macMakers(files)), " "); got != "direct held asText" {
		t.Errorf("got %q, want direct, held and asText", got)
	}
}

var (
	otherEngines = regexp.MustCompile(`regexp2|pcre|oniguruma|rubex`)
	// nested is a repetition of what holds a repetition, in the sources of a page.
	nested = regexp.MustCompile(`/[^/\n]*\([^)\n]*[+*][^)\n]*\)[+*{][^/\n]*/`)
)

// Go's own regular expressions take time in proportion to the text. Another engine, or
// one of a page that repeats a repetition, may take for ever.
func TestNoRegularExpressionTakesForEver(t *testing.T) {
	deps, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil || !strings.Contains(string(deps), "regexp\n") {
		t.Fatalf("what the program is made of: %v", err)
	}
	if engine := otherEngines.FindString(string(deps)); engine != "" {
		t.Errorf("the program has another engine of regular expressions: %s", engine)
	}
	scripts := 0
	for _, folder := range []string{"api/console", "api/pages"} {
		err := filepath.WalkDir(folder, func(file string, d os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(file, ".js") {
				return err
			}
			scripts++
			text, err := os.ReadFile(file)
			if found := nested.Find(text); found != nil {
				t.Errorf("%s repeats a repetition: %s", file, found)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if scripts < 4 || !nested.MatchString(`x.match(/^(a+)+$/)`) {
		t.Errorf("%d scripts were looked at: the test looks in the wrong place", scripts)
	}
}
