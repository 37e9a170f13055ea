package api

import (
	"encoding/json"
	"testing"
	"time"

	"seckill/domain"
)

func TestPreparedProblemsAreWhatTheDocumentSays(t *testing.T) {
	all, err := prepareProblems()
	if err != nil {
		t.Fatal(err)
	}
	trace := newTraceID()
	for _, code := range domain.Codes() {
		for _, language := range languages {
			for name, r := range map[string]*refusal{
				"plain":       refuse(code),
				"with a wait": {Problem: domain.Problem{Code: code}, wait: 1234 * time.Millisecond},
				"with a note": invalid(415, noCompression),
				"with more":   {Problem: domain.Problem{Code: code}, order: "an-order", opensAt: time.Unix(1, 0)},
				"with fields": wrong(domain.FieldError{Field: "sku", Reason: "is required"}),
			} {
				p := r.document(language, trace)
				want, err := json.Marshal(p)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := all.body(r, p, language); err != nil || string(got) != string(want) {
					t.Errorf("%s %s %s: got %s, %v; want %s", code, language, name, got, err, want)
				}
			}
		}
	}
}
