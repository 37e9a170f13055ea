package obs

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestWhatSeveralDatabasesCountIsToldApart(t *testing.T) {
	process, main, b := New(known()), New(known()), New(known())
	process.Purchase("accepted", time.Millisecond)
	main.Appended(3, 1, time.Millisecond)
	b.Appended(4, 1, time.Millisecond)
	b.Purchase("accepted", time.Millisecond) // nobody counts it there
	w := httptest.NewRecorder()
	OfSeveral(process, map[string]*Metrics{"main": main, "b": b}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	text := w.Body.String()
	for _, want := range []string{
		`seckill_purchases_total{outcome="accepted"} 1`, `seckill_append_events_total{database="main"} 3`, `seckill_append_events_total{database="b"} 4`,
		`seckill_lanes{database="b",state="selling"} 0`, "seckill_go_goroutines ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s", want)
		}
	}
	if w.Code != 200 || strings.Contains(text, `seckill_purchases_total{database`) || strings.Contains(text, "\nseckill_append_events_total ") || strings.Count(text, "# TYPE seckill_append_events_total") != 1 {
		t.Errorf("status %d, or a family is shown as both:\n%.2000s", w.Code, text)
	}
}
