package domain

import (
	"strings"
	"testing"
)

// B57
func TestAnOrderPlacedBeforeItSaidItsTermsIsReadWithoutThem(t *testing.T) {
	old := goldens(t, "order.placed", 1)[0]
	placed, ok := decoded(t, old).(*OrderPlaced)
	if !ok || placed.TermsVersion != 0 || placed.OrderID == "" || len(placed.Lines) != 2 {
		t.Errorf("got %+v, want the old order with terms version 0", placed)
	}
	now := goldens(t, "order.placed", 2)[0]
	if placed, ok := decoded(t, now).(*OrderPlaced); !ok || placed.TermsVersion != 4 {
		t.Errorf("got %+v, want terms version 4", placed)
	}
	up, err := orderPlacedV1(old.payload)
	if want := strings.TrimSuffix(string(old.payload), "}") + `,"terms_version":0}`; err != nil || string(up) != want {
		t.Errorf("got %s, %v; want the stored bytes and the new field: %s", up, err, want)
	}
	if _, schema, _, err := Encode(placed); schema != 2 || err != nil {
		t.Errorf("written today as version %d, %v; want 2", schema, err)
	}
}

func TestAFieldIsAddedToAnObjectAndToNothingElse(t *testing.T) {
	for object, want := range map[string]string{
		`{}`: `{"x":0}`, " { } \n": `{"x":0}`, `{"a":{"b":1} }`: `{"a":{"b":1},"x":0}`,
	} {
		if got, err := addField([]byte(object), `"x":0`); err != nil || string(got) != want {
			t.Errorf("%q: got %s, %v; want %s", object, got, err, want)
		}
	}
	for _, bad := range []string{"", "{", "[]", "null", `{"a":1} x`} {
		if got, err := addField([]byte(bad), `"x":0`); err == nil {
			t.Errorf("%q: got %s, want an error", bad, got)
		}
	}
}
