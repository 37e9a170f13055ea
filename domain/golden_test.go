package domain

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// update writes golden states that are missing. Payloads are never written by
// a test: they are what stands in somebody's log.
var update = flag.Bool("update", false, "write golden states that are missing")

// happenedBefore lists what a golden event is folded onto; others come first.
var happenedBefore = map[string][]string{
	"sale.revised":      {"sale.scheduled"},
	"sale.preheated":    {"sale.scheduled"},
	"sale.checked":      {"sale.scheduled"},
	"sale.confirmed":    {"sale.scheduled"},
	"sale.paused":       {"sale.scheduled"},
	"sale.resumed":      {"sale.scheduled", "sale.paused"},
	"sale.closed":       {"sale.scheduled"},
	"sale.repaired":     {"sale.scheduled"},
	"sale.tallied":      {"sale.scheduled"},
	"sale.members_set":  {"sale.scheduled"},
	"sale.cleaned":      {"sale.scheduled"},
	"switch.flipped":    {"sale.scheduled"},
	"stock.reserved":    {"stock.released"},
	"stock.returned":    {"stock.released", "stock.reserved"},
	"stock.refused":     {"stock.released"},
	"stock.withdrawn":   {"stock.released"},
	"stock.moved_out":   {"stock.released"},
	"stock.written_off": {"stock.released", "stock.reserved"},
	"stock.adjusted":    {"stock.released"},
	"order.refund_due":  {"order.placed"},
	"order.paid":        {"order.placed"},
	"order.cancelled":   {"order.placed"},
	"order.expired":     {"order.placed"},
}

// golden is a stored payload: testdata/events/<type>.v<schema>[-<what>].json. The
// -bare ones leave out whatever may be left out.
type golden struct {
	file    string
	name    string
	schema  int
	payload []byte
}

// goldens gives the stored payloads of a type in a version.
func goldens(t *testing.T, name string, schema int) []golden {
	t.Helper()
	var all []golden
	stem := fmt.Sprintf("testdata/events/%s.v%d", name, schema)
	for _, pattern := range []string{stem + ".json", stem + "-*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, golden{filepath.Base(file), name, schema, bytes.TrimSuffix(b, []byte("\n"))})
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s.json is missing: every stored form has a golden payload", stem)
	}
	return all
}

// everyGolden calls f with each golden payload of each form ever released.
func everyGolden(t *testing.T, f func(t *testing.T, g golden)) {
	for _, form := range stored.list {
		for schema := 1; schema <= form.schema(); schema++ {
			for _, g := range goldens(t, form.name, schema) {
				t.Run(g.file, func(t *testing.T) { f(t, g) })
			}
		}
	}
}

func decoded(t *testing.T, g golden) Event {
	t.Helper()
	e, err := Decode(g.name, g.schema, g.payload)
	if err != nil {
		t.Fatalf("decode %s: %v", g.file, err)
	}
	return e
}

// B57
func TestEveryStoredFormStillLoads(t *testing.T) {
	everyGolden(t, func(t *testing.T, g golden) {
		e := decoded(t, g)
		name, schema, payload, err := Encode(e)
		if err != nil || name != g.name {
			t.Fatalf("encode again: got %q, %v; want %q", name, err, g.name)
		}
		if schema == g.schema && !bytes.Equal(payload, g.payload) {
			t.Errorf("the stored bytes changed:\n got %s\nwant %s", payload, g.payload)
		}
	})
}

// B57
func TestEveryStoredFormFoldsToItsGoldenState(t *testing.T) {
	everyGolden(t, func(t *testing.T, g golden) {
		var events []Event
		for _, name := range happenedBefore[g.name] {
			events = append(events, decoded(t, goldens(t, name, stored.byName[name].schema())[0]))
		}
		got, err := json.MarshalIndent(foldAny(t, append(events, decoded(t, g))), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		file := filepath.Join("testdata/states", g.file)
		want, err := os.ReadFile(file)
		if os.IsNotExist(err) && *update {
			want, err = got, os.WriteFile(file, got, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("state after %s (-want +got):\n%s", g.file, diff)
		}
	})
}

// foldAny folds the events of one stream into whatever that stream is about.
func foldAny(t *testing.T, events []Event) any {
	t.Helper()
	kind, _, _ := strings.Cut(events[0].EventType(), ".")
	switch kind {
	case "letters": // are not folded: each says all of what it says
		return events[len(events)-1]
	case "sale", "switch":
		var s Sale
		for _, e := range events {
			s = s.FoldSale(e)
		}
		return s
	case "order":
		var o Order
		for _, e := range events {
			o = o.FoldOrder(e)
		}
		return o
	case "stock":
		both := struct {
			Stock   *Stock
			Account Account
		}{Stock: NewStock(StockKey{Sale: "28t5cy4t", SKU: "mug-red", Bucket: 3})}
		for _, e := range events {
			if err := both.Stock.Fold(e); err != nil {
				t.Fatal(err)
			}
			both.Account = both.Account.Fold(e)
		}
		return both
	}
	t.Fatalf("no fold for streams of %q", kind)
	return nil
}

func TestGoldenPayloadsSetEveryField(t *testing.T) {
	for _, form := range stored.list {
		t.Run(form.name, func(t *testing.T) {
			unset := map[string]bool{}
			for i, g := range goldens(t, form.name, form.schema()) {
				now := map[string]bool{}
				collectUnset(reflect.ValueOf(decoded(t, g)).Elem(), form.name, now)
				for path := range now {
					if i > 0 && !unset[path] {
						delete(now, path)
					}
				}
				unset = now
			}
			for path := range unset {
				t.Errorf("%s stands in no golden payload: add testdata/events/%s.v%d-<what>.json", path, form.name, form.schema())
			}
		})
	}
}

// collectUnset adds the fields below v that hold their zero value. Of a list
// the first element is looked at.
func collectUnset(v reflect.Value, path string, unset map[string]bool) {
	switch {
	case v.IsZero():
		unset[path] = true
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		collectUnset(v.Index(0), path+"[0]", unset)
	case v.Kind() == reflect.Struct && v.Type().PkgPath() == reflect.TypeFor[Money]().PkgPath():
		for i := range v.NumField() {
			collectUnset(v.Field(i), path+"."+v.Type().Field(i).Name, unset)
		}
	}
}
