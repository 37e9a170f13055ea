package projections_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/projections"
)

// BenchmarkRelayCPU measures what an event of about 300 bytes costs from the
// relay to the rows of all views, in processor time: ours, that of our sessions
// in PostgreSQL, and that of its writers in the background (whose time other
// users of the same server share). The log stands before the clock starts.
func BenchmarkRelayCPU(b *testing.B) {
	h := newHouse(b)
	h.seed(*benchEvents)
	events := float64(h.head().Number)
	last := lastPositions(h.records())
	mean := h.meanBytes()
	for b.Loop() {
		h.wipe()
		if _, err := h.pool.Exec(h.ctx(), "delete from checkpoints"); err != nil {
			b.Fatal(err)
		}
		p := h.projector(projections.All(), projections.Options{})
		began, ours, sessions, writers := time.Now(), ownCPU(b), h.serverCPU(true), h.serverCPU(false)
		_, stop := h.connect(p, straight)
		for len(late(p, last)) > 0 {
			if time.Since(began) > 5*time.Minute {
				b.Fatal("not applied within five minutes")
			}
			time.Sleep(20 * time.Millisecond)
		}
		took := time.Since(began)
		micros := func(d time.Duration) float64 { return float64(d.Microseconds()) / events }
		b.ReportMetric(micros(ownCPU(b)-ours), "µs-ours/event")
		b.ReportMetric(micros(h.serverCPU(true)-sessions), "µs-postgres/event")
		b.ReportMetric(micros(h.serverCPU(false)-writers), "µs-postgres-background/event")
		b.ReportMetric(events/took.Seconds(), "events/s")
		b.ReportMetric(mean, "bytes/event")
		b.ReportMetric(0, "ns/op")
		stop()
	}
}

// meanBytes is how large an event of the log is, payload and metadata.
func (h *house) meanBytes() float64 {
	var n float64
	err := h.pool.QueryRow(h.ctx(), "select avg(octet_length(payload) + octet_length(metadata))::float8 from events").Scan(&n)
	if err != nil {
		h.t.Fatal(err)
	}
	return n
}

// ownCPU is the processor time that this process has used.
func ownCPU(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serverCPU is the processor time of our sessions, or of the server's own
// processes. Sessions of the pool stay open, so nothing gets lost between looks.
func (h *house) serverCPU(sessions bool) time.Duration {
	h.t.Helper()
	sql := "select pid from pg_stat_activity where backend_type in ('walwriter', 'checkpointer', 'background writer')"
	if sessions {
		sql = "select pid from pg_stat_activity where backend_type = 'client backend' and application_name = current_setting('application_name')"
	}
	var pids []int32
	// Only the login may see who else is there, not the role that we work as.
	err := pgx.BeginFunc(context.Background(), h.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(context.Background(), "set local role none"); err != nil {
			return err
		}
		rows, err := tx.Query(context.Background(), sql)
		if err == nil {
			pids, err = pgx.CollectRows(rows, pgx.RowTo[int32])
		}
		return err
	})
	if err != nil || len(pids) == 0 {
		h.t.Fatalf("find the sessions: %d, %v", len(pids), err)
	}
	var sum time.Duration
	for _, pid := range pids {
		sum += cpuOf(int(pid))
	}
	return sum
}

// cpuOf reads the time of a process on this machine, 0 when it is gone.
func cpuOf(pid int) time.Duration {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100 everywhere
}
