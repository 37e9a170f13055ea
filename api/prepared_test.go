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
				shown, got, err := all.rendered(r, language, trace)
				p.RetryAfterMS = shown.RetryAfterMS // with jitter where there is no exact time
				want, failed := json.Marshal(p)
				if failed != nil {
					t.Fatal(failed)
				}
				if err != nil || string(got) != string(want) || shown.Status != p.Status || (shown.RetryAfterMS > 0) != (r.retryAfter() > 0) {
					t.Errorf("%s %s %s: got %d %s, %v; want %d %s", code, language, name, shown.Status, got, err, p.Status, want)
				}
				if r.wait > 0 && shown.RetryAfterMS != r.wait.Milliseconds() {
					t.Errorf("%s %s: got %d ms to wait, want %s", code, name, shown.RetryAfterMS, r.wait)
				}
			}
		}
	}
}
