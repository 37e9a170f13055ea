package domain

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestEveryEventTypeOfThePackageIsListed(t *testing.T) {
	var listed []string
	for _, f := range stored.list {
		listed = append(listed, reflect.TypeOf(f.fresh()).Elem().Name())
	}
	slices.Sort(listed)
	declared := typesWithStoredName(t)
	if len(declared) == 0 || !slices.Equal(listed, declared) {
		t.Errorf("types with a stored name and types that are listed differ:\nnamed  %v\nlisted %v", declared, listed)
	}
}

// typesWithStoredName lists the types that have an EventType, by the source.
func typesWithStoredName(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if m, ok := d.(*ast.FuncDecl); ok && m.Name.Name == "EventType" {
				names = append(names, m.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

func TestTheContractsEventTypesAreThere(t *testing.T) {
	names := EventTypes()
	for _, want := range []string{"sale.scheduled", "stock.released", "stock.reserved", "stock.returned", "stock.refused",
		"stock.withdrawn", "stock.moved_out", "stock.moved_in", "order.placed", "order.rejected", "order.paid",
		"order.cancelled", "order.expired"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing", want)
		}
	}
	slices.Sort(names)
	if twice := slices.Compact(slices.Clone(names)); len(twice) != len(names) {
		t.Errorf("a name is used twice in %v", names)
	}
}

func TestAnUnknownEventIsToldFromALaterVersion(t *testing.T) {
	for _, c := range []struct {
		name   string
		schema int
		want   error
	}{
		{"order.teleported", 1, ErrUnknownEvent},
		{"", 1, ErrUnknownEvent},
		{"Order.Paid", 1, ErrUnknownEvent},
		{"order.paid", 0, ErrUnknownEvent},
		{"order.paid", -1, ErrUnknownEvent},
		{"order.paid", stored.byName["order.paid"].schema() + 1, ErrFutureEvent},
	} {
		if e, err := Decode(c.name, c.schema, []byte("{}")); e != nil || !errors.Is(err, c.want) {
			t.Errorf("decode %q version %d: got %v, %v; want %v", c.name, c.schema, e, err, c.want)
		}
	}
}

func TestAPayloadThatIsNoneOfOursIsAnError(t *testing.T) {
	for _, payload := range []string{"", "{", `{"order_id":7}`, `{"order_id":"a"} ` + "x", `[]`, `"a"`,
		`{"amount":{"amount":"-1.00","currency":"CNY"}}`} {
		if e, err := Decode("order.paid", 1, []byte(payload)); err == nil {
			t.Errorf("decode %q: got %+v; want an error", payload, e)
		}
	}
}

// moved is an event of a test: its payload was a price in yuan, then one in
// fen, then one with a currency.
type moved struct {
	Fen      int64  `json:"fen"`
	Currency string `json:"currency"`
}

func (*moved) EventType() string { return "test.moved" }

// unlisted is an event that no table knows.
type unlisted struct{}

func (*unlisted) EventType() string { return "test.unlisted" }

// movedForms knows three versions of moved.
func movedForms() forms {
	return newForms(formOf[moved](
		func(p []byte) ([]byte, error) {
			var old struct {
				Yuan int64 `json:"yuan"`
			}
			if err := json.Unmarshal(p, &old); err != nil {
				return nil, err
			}
			return json.Marshal(map[string]int64{"fen": old.Yuan * 100})
		},
		func(p []byte) ([]byte, error) {
			var old map[string]any
			if err := json.Unmarshal(p, &old); err != nil {
				return nil, err
			}
			old["currency"] = "CNY"
			return json.Marshal(old)
		},
	))
}

func TestOlderPayloadsWalkUpOneVersionAtATime(t *testing.T) {
	fs := movedForms()
	for schema, payload := range map[int]string{1: `{"yuan":19}`, 2: `{"fen":1900}`, 3: `{"fen":1900,"currency":"CNY"}`} {
		e, err := fs.decode("test.moved", schema, []byte(payload))
		if got, ok := e.(*moved); err != nil || !ok || *got != (moved{1900, "CNY"}) {
			t.Errorf("version %d: got %+v, %v; want 1900 fen in CNY", schema, e, err)
		}
	}
	if _, err := fs.decode("test.moved", 4, []byte("{}")); !errors.Is(err, ErrFutureEvent) {
		t.Errorf("version 4: got %v; want %v", err, ErrFutureEvent)
	}
	if _, schema, _, err := fs.encode(&moved{}); schema != 3 || err != nil {
		t.Errorf("written today as version %d, %v; want 3", schema, err)
	}
}

func TestAFailingUpcasterSaysWhichStep(t *testing.T) {
	_, err := movedForms().decode("test.moved", 2, []byte("no json"))
	if err == nil || !strings.Contains(err.Error(), "bring test.moved from version 2 to 3") {
		t.Errorf("got %v; want the step from 2 to 3 named", err)
	}
}

func TestAnEventWithoutAFormIsNotWritten(t *testing.T) {
	if _, _, _, err := Encode(&unlisted{}); !errors.Is(err, ErrUnknownEvent) {
		t.Errorf("got %v; want %v", err, ErrUnknownEvent)
	}
}
