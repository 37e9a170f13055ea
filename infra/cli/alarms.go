package cli

import (
	"log/slog"

	"seckill/commands"
)

// alarm counts an alarm, and writes it down where its raiser has not: every alarm has
// a line with the field alarm.
func (a *app) alarm(al commands.Alarm) {
	a.metrics.Alarm(al.Kind)
	if al.Logged {
		return
	}
	fields := []any{slog.String("alarm", al.Kind), slog.String("detail", al.Detail)}
	if al.Lane >= 0 {
		fields = append(fields, slog.Int("lane", al.Lane))
	}
	a.log.Error("a person must look", fields...)
}
