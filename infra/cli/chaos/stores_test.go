package chaos

import (
	"context"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// storeCells are the faults of a store; nil where row is none.
func storeCells(row string) []cell {
	ends, known := map[string]func(*site) [3]func(){
		"redis": func(s *site) [3]func() {
			return [3]func(){s.redis.Kill, s.redis.Stop, s.redis.Restart}
		},
		"postgres": func(s *site) [3]func() {
			return [3]func(){s.pg.Crash, s.pg.Stop, s.pg.Start}
		},
		"kafka": func(s *site) [3]func() {
			return [3]func(){s.kafka.Kill, s.kafka.Stop, s.kafka.Restart}
		},
	}[row]
	if !known {
		return nil
	}
	full, memory := diskFull(row), memoryCell(row)
	return []cell{
		{fault: "sigkill", did: "all its processes killed, and started again on what they had written", do: func(s *site) func() {
			end := ends(s)
			end[0]()
			return end[2]
		}},
		{fault: "sigstop", did: "all its processes stopped by the system, and let go on", hold: *stopFor, do: freezeStore(row)},
		{fault: "restart", did: "told to stop, waited for, and started again", hold: time.Millisecond, do: func(s *site) func() {
			end := ends(s)
			end[1]()
			return end[2]
		}},
		storeNetwork(row, "slow", "every answer to anybody 500 ms late", (*site).slow),
		storeNetwork(row, "reply_lost", "answers lost after what was asked has been done: "+lostOf(row), (*site).loseReplies),
		storeNetwork(row, "reset", "every connection to it reset, new ones too", (*site).cut),
		storeNetwork(row, "black_hole", "nothing comes through to or from it, connections stay", (*site).swallow),
		full,
		clockCell(row, movedClock, func(s *site) func(time.Duration) error { return s.clock.Set }),
		memory,
	}
}

// lostOf says which answers of a store are lost.
func lostOf(row string) string {
	return map[string]string{"redis": "of scripts", "postgres": "of commits", "kafka": "any, five a second"}[row]
}

func storeNetwork(row, fault, did string, do func(*site, nets) func()) cell {
	return cell{fault: fault, hold: holdOf(fault), did: did, do: func(s *site) func() { return do(s, s.netsTo(row)) }}
}

func freezeStore(row string) func(*site) func() {
	return func(s *site) func() {
		switch row {
		case "redis":
			s.redis.Freeze()
			return s.redis.Thaw
		case "kafka":
			s.kafka.Freeze()
			return s.kafka.Thaw
		}
		return s.pg.Freeze()
	}
}

// diskFull fills the disk of a store. One that ended by itself is started again when
// there is room.
func diskFull(row string) cell {
	did, hold := "the file system of its data full; what ended over it is started again when there is room", time.Duration(0)
	if row == "postgres" { // else it would live on its files of before for a while
		did, hold = "the file system of its data full, and its journal files used up (pg_switch_wal); what ended over it is started again when there is room", 6*time.Second
	}
	return cell{fault: "disk_full", on: smallDisk, did: did, hold: hold, do: func(s *site) func() {
		room, use := s.fill(s.disk), func() {}
		if row == "postgres" {
			use = every(100*time.Millisecond, s.switchWAL)
		}
		return func() {
			use()
			if row == "postgres" && s.felt.Load() == 0 {
				s.found("PostgreSQL did not notice that its disk was full")
			}
			room()
			switch {
			case row == "postgres" && !s.pg.Alive():
				s.pg.Start()
			case row == "kafka" && !s.kafka.Alive():
				s.kafka.Restart()
			case row == "redis" && !s.redis.Alive():
				s.redis.Restart()
			}
		}
	}}
}

func memoryCell(row string) cell {
	c := cell{fault: "memory"}
	switch row {
	case "redis":
		c.did, c.do = "maxmemory below what it holds, with noeviction", func(s *site) func() {
			s.askRedis("CONFIG", "SET", "maxmemory", "1mb")
			if err := s.askRedis("SET", "chaos-probe", "x"); err == nil || !strings.HasPrefix(err.Error(), "OOM") {
				s.found("Redis at its limit answers %v to a write, want OOM", err)
			}
			return func() { s.askRedis("CONFIG", "SET", "maxmemory", "0") }
		}
	case "postgres":
		c.did, c.do = "a working backend killed each second, as the kernel does when memory is short: all sessions end, and it recovers", func(s *site) func() {
			return every(time.Second, s.killBackend)
		}
	case "kafka":
		c.did, c.do = "told to stop and started with a heap of 48 MB, then killed and started as before", func(s *site) func() {
			s.kafka.Stop()
			s.kafka.SetHeap("48m")
			s.kafka.Launch()
			return func() { s.kafka.SetHeap("256m"); s.kafka.Restart() }
		}
	}
	return c
}

// askRedis asks the server itself, past all networks.
func (s *site) askRedis(args ...any) error {
	o, err := redis.ParseURL(s.redis.URL)
	if err != nil {
		return err
	}
	c := redis.NewClient(o)
	defer func() { _ = c.Close() }() // a test's own connection
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return c.Do(ctx, args...).Err()
}

// switchWAL lets PostgreSQL begin a new file of its journal, and counts when it cannot.
func (s *site) switchWAL() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.pg.URL)
	if err == nil {
		// What is not written needs no new file.
		_, err = conn.Exec(ctx, `select pg_logical_emit_message(false, 'chaos', 'x'), pg_switch_wal()`)
		_ = conn.Close(context.WithoutCancel(ctx)) // it may be gone
	}
	if err != nil {
		s.felt.Add(1)
	}
}

// killBackend kills a session's process that is not ours.
func (s *site) killBackend() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.pg.URL)
	if err != nil {
		return // it recovers from the one before
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it dies with the others
	var pid int
	err = conn.QueryRow(ctx, `select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() order by random() limit 1`).Scan(&pid)
	if err == nil {
		if err = syscall.Kill(pid, syscall.SIGKILL); err == nil {
			s.felt.Add(1)
		}
	}
}

// every does something again and again until the function it gives is called.
func every(pause time.Duration, do func()) (end func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			do()
			select {
			case <-stop:
				return
			case <-time.After(pause):
			}
		}
	}()
	return func() { close(stop); <-done }
}

// moveClock puts a clock wrong: ahead for half of the fault, then back.
func (s *site) moveClock(set func(time.Duration) error) (mend func()) {
	try := func(d time.Duration) {
		if err := set(d); err != nil {
			s.t.Errorf("%v", err)
		}
	}
	try(5 * time.Second)
	back := time.AfterFunc(s.hold/2, func() { try(-5 * time.Second) })
	return func() {
		back.Stop()
		try(0)
	}
}

// setClock puts the clock of the process wrong by d.
func (p *proc) setClock(d time.Duration) error { return writeFile(p.clock, d.String()+"\n") }
