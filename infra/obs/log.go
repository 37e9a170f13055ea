package obs

import (
	"io"
	"log/slog"
	"time"
)

// NewLogger gives a logger that writes one JSON object a line to w, from a level
// on. Times are RFC 3339 in UTC with microseconds. Of one message it writes ten
// warnings or errors a second; a line of its own says how many more there were.
// Lines with the field alarm, and those below warnings, are all written.
func NewLogger(w io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(newBrief(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: plain})))
}

// plain writes times the way events do, and durations as text: a bare number of
// nanoseconds is read wrong by people.
func plain(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindTime:
		return slog.String(a.Key, a.Value.Time().UTC().Format("2006-01-02T15:04:05.000000Z07:00"))
	case slog.KindDuration:
		return slog.String(a.Key, a.Value.Duration().Round(time.Microsecond).String())
	}
	return a
}
