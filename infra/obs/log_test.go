package obs

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"
)

func TestALogLineIsOneJSONObjectWithItsFields(t *testing.T) {
	var out bytes.Buffer
	log := NewLogger(&out, slog.LevelInfo)
	log.Debug("not shown")
	log.Info("order placed", "order_id", "o1", "trace_id", "t1", "wait", 1500*time.Millisecond)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("not one JSON object: %v in %q", err, out.String())
	}
	for name, want := range map[string]any{"level": "INFO", "msg": "order placed", "order_id": "o1", "trace_id": "t1", "wait": "1.5s"} {
		if line[name] != want {
			t.Errorf("%s: got %v, want %v", name, line[name], want)
		}
	}
	at, err := time.Parse(time.RFC3339Nano, line["time"].(string))
	if err != nil || at.Location() != time.UTC {
		t.Errorf("time %v: got %v, want RFC 3339 in UTC", line["time"], err)
	}
}
