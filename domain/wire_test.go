package domain

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
)

// walk calls f with each value below v that is no object and no list, and the
// name it stands under.
func walk(v any, name string, f func(name string, v any)) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			walk(x, k, f)
		}
	case []any:
		for _, x := range v {
			walk(x, name, f)
		}
	default:
		f(name, v)
	}
}

func parsed(t *testing.T, payload []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(payload, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// B64, B65
func TestIdsAndMoneyAreStringsInEveryPayload(t *testing.T) {
	text := regexp.MustCompile(`(^|_)(id|entry|key|hash|sku|amount|currency)$`)
	everyGolden(t, func(t *testing.T, g golden) {
		ids := 0
		walk(parsed(t, g.payload), "", func(name string, v any) {
			if !text.MatchString(name) {
				return
			}
			ids++
			if s, ok := v.(string); !ok || s == "" {
				t.Errorf("%s is %T %v; want text", name, v, v)
			}
		})
		if about := "switch.flipped letters.retried letters.dropped"; ids == 0 && !strings.Contains(about, g.name) { // about all sales, or a sequence
			t.Error("no id in this payload: nothing says what it is about")
		}
	})
}

// B65
func TestNumbersInPayloadsAreExactInJavaScript(t *testing.T) {
	everyGolden(t, func(t *testing.T, g golden) {
		walk(parsed(t, g.payload), "", func(name string, v any) {
			if n, ok := v.(float64); ok && (n != float64(int64(n)) || n > MaxQuantity) {
				t.Errorf("%s is %v; want whole numbers that every reader holds exactly", name, n)
			}
		})
	})
}

// B68
func TestTimesInPayloadsCarryTheirZone(t *testing.T) {
	times := 0
	everyGolden(t, func(t *testing.T, g golden) {
		walk(parsed(t, g.payload), "", func(name string, v any) {
			if name != "at" && name != "pay_by" && !strings.HasSuffix(name, "_at") {
				return
			}
			times++
			s, _ := v.(string)
			if _, err := time.Parse(time.RFC3339Nano, s); err != nil {
				t.Errorf("%s is %v; want RFC 3339 with an offset: %v", name, v, err)
			}
		})
	})
	if times < 8 {
		t.Errorf("looked at %d times; want at least the 8 of sale.scheduled, sale.revised and order.placed", times)
	}
}

// liveIn makes zone the process's own for this test.
func liveIn(t *testing.T, zone string) {
	t.Helper()
	local, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	before := time.Local
	time.Local = local
	t.Cleanup(func() { time.Local = before })
}

// B68
func TestTheSameClockInTwoOffsetsIsAnHourApart(t *testing.T) {
	for _, zone := range []string{"UTC", "Asia/Shanghai", "America/New_York"} {
		t.Run(zone, func(t *testing.T) {
			liveIn(t, zone)
			g := goldens(t, "sale.scheduled", 1)[0]
			e := decoded(t, g).(*SaleScheduled)
			if d := e.ClosesAt.Sub(e.OpensAt); d != time.Hour {
				t.Errorf("01:30-04:00 to 01:30-05:00: got %v; want 1h", d)
			}
			if want := time.Date(2026, 11, 1, 5, 30, 0, 0, time.UTC); !e.OpensAt.Equal(want) {
				t.Errorf("opens at %v; want %v", e.OpensAt, want)
			}
			if _, _, payload, err := Encode(e); err != nil || !bytes.Equal(payload, g.payload) {
				t.Errorf("written again in %s: got %s, %v; want %s", zone, payload, err, g.payload)
			}
		})
	}
}

// B68
func TestATimeWithoutAZoneIsRefused(t *testing.T) {
	for _, at := range []string{"2026-11-01T01:30:00", "2026-11-01 01:30:00Z", "2026-11-01", "1793511000"} {
		if e, err := Decode("sale.scheduled", 1, []byte(`{"opens_at":"`+at+`"}`)); err == nil {
			t.Errorf("opens_at %q: got %v; want an error", at, e.(*SaleScheduled).OpensAt)
		}
	}
}
