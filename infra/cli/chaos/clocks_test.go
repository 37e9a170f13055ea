package chaos

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// clockCell moves the clock of a store or of a role's first process, and finds a cell in
// which nobody could see that: nothing was tried there.
func clockCell(row string, kind siteKind, set func(*site) func(time.Duration) error) cell {
	return cell{fault: "clock", on: kind, hold: 6 * time.Second, did: "its clock jumps 5 s ahead, then 5 s back of what it should be, then right", do: func(s *site) func() {
		apart := s.apart(row)
		if apart == nil {
			return s.moveClock(set(s))
		}
		before, err := apart()
		if err != nil {
			s.found("clock before the fault: %v", err)
		}
		seen := watchClock(before, apart)
		mend := s.moveClock(set(s))
		return func() {
			ahead, behind := seen()
			mend()
			if !ahead || !behind {
				s.found("a fault that did not happen: the clock was seen to jump ahead %t, back %t", ahead, behind)
			}
		}
	}}
}

// apart gives how far the clock of a row is ahead of another one by which that can be
// seen: of a process and of PostgreSQL against ours, of Redis against a process'. Nil for a broker, which tells its time to nobody.
func (s *site) apart(row string) func() (time.Duration, error) {
	switch row {
	case "kafka":
		return nil
	case "postgres":
		return func() (time.Duration, error) { return postgresAhead(s.pg.URL) }
	case "redis":
		return func() (time.Duration, error) { return gateAhead(s.first("api").child.URL) }
	}
	return func() (time.Duration, error) { return processAhead(s.first(row).child.URL) }
}

// clockSeen is how far a clock that was moved by five seconds must be seen to have moved:
// what a process tells is up to a second old.
const clockSeen = 3 * time.Second

// watchClock asks again and again, until what it gives is called; that tells whether the
// clock was seen ahead of where it was before, and behind.
func watchClock(before time.Duration, apart func() (time.Duration, error)) (seen func() (ahead, behind bool)) {
	stop, done := make(chan struct{}), make(chan struct{})
	var ahead, behind bool
	go func() {
		defer close(done)
		for {
			if now, err := apart(); err == nil { // one that is not told now is asked for again
				ahead = ahead || now-before > clockSeen
				behind = behind || now-before < -clockSeen
			}
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return func() (bool, bool) {
		close(stop)
		<-done
		return ahead, behind
	}
}

// gateAhead is how far a process sees the gate's clock ahead of its own.
func gateAhead(url string) (time.Duration, error) {
	found, err := metricsOf(url, "seckill_gate_clock_offset_seconds ")
	if err != nil {
		return 0, err
	}
	return time.Duration(found[0] * float64(time.Second)), nil
}

// processAhead is how far the clock by which a process looked at something last is ahead
// of ours: by up to the time since then less than it is.
func processAhead(url string) (time.Duration, error) {
	found, err := metricsOf(url, "seckill_watch_seen_timestamp_seconds{")
	if err != nil {
		return 0, err
	}
	return time.Until(time.UnixMilli(int64(slices.Max(found) * 1000))), nil
}

// metricsOf gives the values of a process' series that begin so; one at least.
func metricsOf(url, begin string) (values []float64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, begin) {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]), 64)
		if err != nil {
			return nil, fmt.Errorf("%s tells %q: %w", url, line, err)
		}
		values = append(values, value)
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("%s tells no %s", url, begin)
	}
	return values, nil
}

// postgresAhead is how far the clock of a database is ahead of ours.
func postgresAhead(url string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	var at time.Time
	err = conn.QueryRow(ctx, "select clock_timestamp()").Scan(&at)
	return time.Until(at), err
}
