package cli

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"seckill/commands"
	"seckill/infra/obs"
)

func TestAnAlarmOfEveryKindLeavesALine(t *testing.T) {
	for _, kind := range commands.AlarmKinds() {
		var out bytes.Buffer
		a := &app{metrics: newMetrics()}
		a.log = obs.NewLogger(&out, slog.LevelError)
		const times = 30 // more than one message may write in a second
		for range times {
			a.alarm(commands.Alarm{Kind: kind, Lane: 7, Detail: "what is wrong"})
		}
		a.alarm(commands.Alarm{Kind: kind, Lane: -1, Detail: "told already", Logged: true})
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != times {
			t.Errorf("%s: %d lines of %d alarms", kind, len(lines), times)
		}
		var line struct {
			Level, Alarm, Detail string
			Lane                 int
		}
		if err := json.Unmarshal([]byte(lines[0]), &line); err != nil {
			t.Fatalf("%s: %v in %s", kind, err, lines[0])
		}
		if line.Level != "ERROR" || line.Alarm != kind || line.Detail != "what is wrong" || line.Lane != 7 {
			t.Errorf("%s: got %s", kind, lines[0])
		}
	}
}
