package preflight

import (
	"context"
	"fmt"
	"time"
)

// How far a clock may be off. Opening and closing go by the clock of Redis.
const (
	skewWarns = 100 * time.Millisecond
	skewStops = time.Second
)

// clocksAgree compares this machine's clock with those of the stores.
func clocksAgree(ctx context.Context, s *Site) []Row {
	rows := eachRedis(s, "clock.redis", within(), func(server RedisServer) Row {
		return clock(s, "clock.redis", func() (time.Time, error) { return server.Client.Time(ctx).Result() })
	})
	if s.DB == nil {
		return append(rows, unseen("clock.postgres", within(), nil))
	}
	return append(rows, clock(s, "clock.postgres", func() (at time.Time, err error) {
		return at, s.DB.QueryRow(ctx, "select clock_timestamp()").Scan(&at)
	}))
}

func within() string { return fmt.Sprintf("within %s of this machine", skewWarns) }

// clock asks a server for its time. Of several answers the quickest counts: by half of
// what it took, it may be wrong.
func clock(s *Site, name string, ask func() (time.Time, error)) Row {
	var off, doubt time.Duration
	for i := range 3 {
		began := s.Now()
		at, err := ask()
		took := s.Now().Sub(began)
		if err != nil {
			return unseen(name, within(), err)
		}
		if i == 0 || took/2 < doubt {
			off, doubt = at.Sub(began.Add(took/2)), took/2
		}
	}
	state, sure := OK, off.Abs()-doubt
	switch {
	case sure > skewStops:
		state = NoGo
	case sure > skewWarns:
		state = Warning
	}
	seen := fmt.Sprintf("%s off, by %s in doubt", off.Round(100*time.Microsecond), doubt.Round(100*time.Microsecond))
	return row(name, state, seen, within(), "bring both machines to the same time (chrony, systemd-timesyncd): a sale opens by the clock of Redis, buyers count down by this one's, expiry goes by PostgreSQL's")
}
