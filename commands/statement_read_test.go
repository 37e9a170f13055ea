package commands

import (
	"errors"
	"strings"
	"testing"
)

func TestASignedStatementIsReadInOneWayOnly(t *testing.T) {
	const good = `{"statement":{"items":[{"sku":"a"},{"sku":"b"}]},"issued":{"at":"x","head":1,"head_hash":"","seal_first":0,"seal_last":0,"seal_hash":"","sealed_to":0},"sha256":"00","key_id":"k","signature":"ff"}`
	if _, err := ReadSigned([]byte(good)); err != nil {
		t.Fatalf("a statement as it is handed out: %v", err)
	}
	for what, change := range map[string][2]string{
		"the statement twice":         {`{"statement":`, `{"statement":{},"statement":`},
		"a list twice within it":      {`"items":`, `"items":[],"items":`},
		"a name twice deep within it": {`{"sku":"a"}`, `{"sku":"x","sku":"a"}`},
		"a note beside it":            {`"key_id"`, `"note":"sold 9999","key_id"`},
		"a field beside its issue":    {`"at":"x"`, `"at":"x","by":"y"`},
		"another object behind it":    {`"ff"}`, `"ff"}{}`},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		if text == good {
			t.Fatalf("%s: the test changes nothing", what)
		}
		if _, err := ReadSigned([]byte(text)); !errors.Is(err, ErrNotStated) {
			t.Errorf("%s: got %v, want that it does not hold", what, err)
		}
	}
	for what, text := range map[string]string{"a cut": good[:len(good)-3], "no statement": `{"sha256":"00"}`, "nothing": ``, "null": `null`, "brackets": strings.Repeat("[", 1<<20)} {
		if x, err := ReadSigned([]byte(text)); err == nil || errors.Is(err, ErrNotStated) {
			t.Errorf("%s: got %v, %v; want that it is no statement", what, x, err)
		}
	}
}
