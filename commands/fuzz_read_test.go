package commands

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"seckill/domain"
)

// FuzzSaleCursor: a cursor is taken only as it was written, and else refused as the
// caller's fault.
func FuzzSaleCursor(f *testing.F) {
	f.Add(saleCursor{1_700_000_000_000_000, domain.SaleNumber(7).ID()}.String())
	f.Add(saleCursor{-1, domain.SaleNumber(7).ID()}.String())
	f.Add("KzEgMDAwMDAwMDc")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseSaleCursor(text)
		if err != nil {
			wantInvalid(t, text, err)
			return
		}
		if text != "" && c.String() != text {
			t.Errorf("%q is read as %+v, which is written %q", text, c, c)
		}
	})
}

// FuzzPuzzleSolution: no text but the solution of a puzzle that we made gives a
// ticket, and only to whom we made it for.
func FuzzPuzzleSolution(f *testing.F) {
	now := pastBegins
	p := puzzlesAt(&now, 1000)
	puzzle, err := p.New("s1", "u1")
	if err != nil {
		f.Fatal(err)
	}
	good := solved(f, puzzle, nil)
	f.Add("s1", "u1", good)
	f.Add("s2", "u1", good)
	f.Add("s1", "u1", solved(f, puzzle, func(s *solution) { s.Salt = strings.TrimSuffix(s.Salt, "&") }))
	f.Add("s1", "u1", solved(f, puzzle, func(s *solution) { s.Signature = strings.ToUpper(s.Signature) }))
	f.Add("", "", "e30=")
	f.Fuzz(func(t *testing.T, sale, buyer, text string) {
		name, err := p.Check(sale, buyer, text)
		if err != nil {
			wantInvalid(t, text, err)
			return
		}
		if sale+" "+buyer != "s1 u1" || len(name) != 32 {
			t.Errorf("%q gives %q in sale %q the ticket of %q", text, buyer, sale, name)
		}
	})
}

func wantInvalid(t *testing.T, text string, err error) {
	t.Helper()
	if p := (*domain.Problem)(nil); !errors.As(err, &p) || p.Code != domain.CodeInvalidRequest {
		t.Errorf("%q: got %v, want invalid_request", text, err)
	}
}

// FuzzReadSigned: a statement that is read has one form that digests are over, however
// it was written.
func FuzzReadSigned(f *testing.F) {
	f.Add([]byte(`{"statement":{"items":[{"sku":"a"},{"sku":"\ud83d\ude00"}],"n":1e2},"issued":{"at":"x","head":1,"head_hash":"","seal_first":0,"seal_last":0,"seal_hash":"","sealed_to":0},"sha256":"00","key_id":"k","signature":"ff"}`))
	f.Add([]byte(`{"statement":{"a":1,"a":2}}`))
	f.Add([]byte(`{"statement":null}{}`))
	f.Add(bytes.Repeat([]byte("["), 2000))
	f.Fuzz(func(t *testing.T, text []byte) {
		x, err := ReadSigned(text)
		if err != nil {
			return
		}
		first, err := CanonicalJSON(x.Statement)
		if err != nil {
			t.Fatalf("%s holds a statement that has no one form: %v", text, err)
		}
		if again, err := CanonicalJSON(first); err != nil || !bytes.Equal(again, first) {
			t.Errorf("%s is written %s, then %s, %v", x.Statement, first, again, err)
		}
		for _, c := range first {
			if c < ' ' || c > '~' {
				t.Fatalf("%q is not ASCII alone", first)
			}
		}
	})
}
