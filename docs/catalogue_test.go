package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/bus"
)

// eventType is one line of the table of events and all that is written about it.
type eventType struct {
	name   string
	schema int // written today
	about  string
	stream string // the form of its stream's name
	goType reflect.Type
	forms  []form // every golden payload, the newest form first
}

// form is a golden payload: bytes that stand in somebody's log.
type form struct {
	schema  int
	what    string // "" for the full one, "bare" for one without what may be left out
	payload []byte
}

var streamForms = map[string]string{"sale": "sale-{sale_id}", "stock": "stock-{sale_id}-{sku}-{bucket}", "order": "order-{order_id}", "switch": "sale-{sale_id} or switches", "letters": "dead-letters"}

// catalogue gives every event in the order of the table.
func catalogue(t *testing.T) []eventType {
	t.Helper()
	comments := typeComments(t)
	var all []eventType
	for _, name := range domain.EventTypes() {
		e := eventType{name: name, forms: goldens(t, name)}
		e.schema = e.forms[0].schema
		event, err := domain.Decode(name, e.schema, e.forms[0].payload)
		if err != nil {
			t.Fatal(err)
		}
		if _, schema, _, err := domain.Encode(event); err != nil || schema != e.schema {
			t.Fatalf("%s is written as version %d (%v), but the newest golden payload is of version %d", name, schema, err, e.schema)
		}
		e.goType = reflect.TypeOf(event).Elem()
		e.about = strings.ReplaceAll(comments[e.goType.Name()], e.goType.Name(), "`"+name+"`")
		if e.about == "" {
			t.Fatalf("domain.%s has no comment", e.goType.Name())
		}
		kind, _, _ := strings.Cut(name, ".")
		if e.stream = streamForms[kind]; e.stream == "" {
			t.Fatalf("what is the stream of %s? Add it to streamForms", name)
		}
		all = append(all, e)
	}
	return all
}

var goldenName = regexp.MustCompile(`\.v(\d+)(?:-(.+))?\.json$`)

func goldens(t *testing.T, name string) []form {
	t.Helper()
	files, err := filepath.Glob("../domain/testdata/events/" + name + ".v*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no golden payload (%v)", name, err)
	}
	var all []form
	for _, file := range files {
		parts := goldenName.FindStringSubmatch(file)
		payload, err := os.ReadFile(file)
		if parts == nil || err != nil {
			t.Fatalf("golden payload %s: %v", file, err)
		}
		schema, err := strconv.Atoi(parts[1])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, form{schema, parts[2], bytes.TrimSpace(payload)})
	}
	slices.SortFunc(all, func(a, b form) int {
		if a.schema != b.schema {
			return b.schema - a.schema
		}
		return strings.Compare(a.what, b.what)
	})
	return all
}

// typeComments gives the comment of each type of domain/events_*.go, on one line.
func typeComments(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../domain/events_*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no file of events: %v", err)
	}
	comments := map[string]string{}
	for _, file := range files {
		eachDecl(t, file, func(d *ast.GenDecl) {
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					comments[s.Name.Name] = strings.Join(strings.Fields(d.Doc.Text()), " ")
				}
			}
		})
	}
	return comments
}

// constants gives the values of the text constants of a type of domain, as they
// are written there.
func constants(t *testing.T, typeName string) []string {
	t.Helper()
	files, err := filepath.Glob("../domain/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, file := range files {
		eachDecl(t, file, func(d *ast.GenDecl) {
			for _, spec := range d.Specs {
				s, ok := spec.(*ast.ValueSpec)
				if !ok || d.Tok != token.CONST || s.Type == nil {
					continue
				}
				if name, ok := s.Type.(*ast.Ident); !ok || name.Name != typeName {
					continue
				}
				for _, v := range s.Values {
					text, err := strconv.Unquote(v.(*ast.BasicLit).Value)
					if err != nil {
						t.Fatal(err)
					}
					values = append(values, text)
				}
			}
		})
	}
	return values
}

func eachDecl(t *testing.T, file string, visit func(*ast.GenDecl)) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		if d, ok := d.(*ast.GenDecl); ok {
			visit(d)
		}
	}
}

// cloudEvent gives an example of e as the program publishes it to outsiders.
func (e *eventType) cloudEvent(t *testing.T) []byte {
	t.Helper()
	var ids struct {
		Sale   string `json:"sale_id"`
		Order  string `json:"order_id"`
		SKU    string `json:"sku"`
		Bucket int    `json:"bucket"`
	}
	if err := json.Unmarshal(e.forms[0].payload, &ids); err != nil {
		t.Fatal(err)
	}
	r := eventstore.Record{
		Position: 4711, ID: uuid.MustParse("018f3a6e-0000-7000-8000-000000004711"), Version: 2, Type: e.name, Schema: e.schema,
		SaleID: ids.Sale, OrderID: ids.Order, RecordedAt: time.Date(2026, 11, 1, 5, 30, 0, 250_000_000, time.UTC), Payload: e.forms[0].payload,
		Stream: strings.NewReplacer("{sale_id}", ids.Sale, "{order_id}", ids.Order, "{sku}", ids.SKU, "{bucket}", fmt.Sprint(ids.Bucket)).Replace(e.stream),
	}
	if slices.Contains([]string{"sale.scheduled", "stock.released", "order.placed", "order.rejected"}, e.name) {
		r.Version = 1 // what streams begin with
	}
	r.Hash = eventstore.ComputeHash(eventstore.Hash{}, &r)
	data, err := bus.CloudEvent(bus.EventSource("seckill", 1), &r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
