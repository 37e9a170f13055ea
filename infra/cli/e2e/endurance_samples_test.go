package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// courses collects samples of everything that is to stay flat.
type courses struct {
	all    []*course
	events []float64 // positions of the log, a sample
	at     []time.Duration
}

// tolerances of a course, by what its name ends with. Room is in its unit.
var tolerances = []struct {
	suffix      string
	share, room float64
}{
	{"MiB in memory", 0.10, 16},
	{"MiB live on the heap", 0.10, 8},
	{"goroutines", 0.10, 20},
	{"files open", 0.10, 20},
	{"sessions of PostgreSQL", 0.10, 5},
	{"connections of Redis", 0.10, 10},
	{"keys of Redis", 0.10, 40},
	{"MiB of Redis", 0.10, 4},
	{"KiB of tables", 0.10, 512},
	{"dead rows for each live one", 0.20, 0.1},
}

// add adds a value; per says whether it may grow with the log.
func (c *courses) add(name string, value float64, per bool) {
	for _, one := range c.all {
		if one.name == name {
			one.values = append(one.values, value)
			if per {
				one.per = append(one.per, value/max(1, c.events[len(c.events)-1]))
			}
			return
		}
	}
	before := len(c.at) - 1 // what comes later, such as a table that is made when it is needed, was nothing before
	one := &course{name: name, values: make([]float64, before)}
	if per {
		one.per = make([]float64, before)
	}
	for _, t := range tolerances {
		if strings.HasSuffix(name, t.suffix) {
			one.share, one.room = t.share, t.room
		}
	}
	if one.share == 0 {
		panic("a course without a tolerance: " + name)
	}
	c.all = append(c.all, one)
	c.add(name, value, per)
}

// sample looks at everything once. A process that is being started again is not looked
// at: what it holds begins anew.
func (x *endurance) sample(ctx context.Context) error {
	var events int64
	if err := x.rig.Pool.QueryRow(ctx, "select coalesce(max(position), 0) from events").Scan(&events); err != nil {
		return fmt.Errorf("ask for the head of the log: %w", err)
	}
	c := &x.courses
	c.at, c.events = append(c.at, time.Since(x.began)), append(c.events, float64(events))
	for _, p := range []struct {
		name  string
		child *Child
	}{{"api", x.oldAPI}, {"back", x.oldBack}} {
		if err := x.sampleProcess(ctx, p.name, p.child); err != nil {
			return err
		}
	}
	holds := heldBy(x.t, x.redis)
	clients, err := x.redis.InfoMap(ctx, "clients").Result()
	if err != nil {
		return fmt.Errorf("ask Redis for its connections: %w", err)
	}
	connected, err := strconv.ParseFloat(clients["Clients"]["connected_clients"], 64)
	if err != nil {
		return fmt.Errorf("read Redis' connections: %w", err)
	}
	c.add("connections of Redis", connected, false)
	c.add("keys of Redis", float64(holds.keys), false)
	c.add("MiB of Redis", float64(holds.bytes)/(1<<20), false)
	return x.sampleTables(ctx)
}

// sampleProcess looks at one of our processes.
func (x *endurance) sampleProcess(ctx context.Context, name string, child *Child) error {
	pid := child.cmd.Process.Pid
	if !child.Alive() {
		return fmt.Errorf("the process %s, which nobody ends, has ended", name)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, child.URL+"/metrics", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask %s for its metrics: %w", name, err)
	}
	var text bytes.Buffer
	_, err = text.ReadFrom(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return fmt.Errorf("read the metrics of %s: %w", name, err)
	}
	series := map[string]float64{}
	for line := range strings.Lines(text.String()) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.Contains(name, "{") {
			series[name], _ = strconv.ParseFloat(value, 64) // what is no number is looked for below
		}
	}
	live, routines := series["seckill_go_memstats_next_gc_bytes"]/2/(1<<20), series["seckill_go_goroutines"]
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	resident := residentOf(pid)
	if err != nil || live == 0 || routines == 0 || len(files) == 0 || resident == 0 {
		return fmt.Errorf("what %s holds cannot be read: %d files, %.1f MiB live, %.0f goroutines, %.1f MiB, %v", name, len(files), live, routines, resident, err)
	}
	c := &x.courses
	c.add(name+": MiB in memory", resident, false)
	c.add(name+": MiB live on the heap", live, false)
	c.add(name+": goroutines", routines, false)
	c.add(name+": files open", float64(len(files)), false)
	return nil
}

// residentOf gives the MiB that a process has in memory.
func residentOf(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	pages, err := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	if err != nil {
		return 0
	}
	return pages * float64(os.Getpagesize()) / (1 << 20)
}

// tablesOf sums the tables of a namespace with their indexes, partitions under the name
// of the log.
const tablesOf = `
select case when i.inhrelid is null then c.relname else 'events' end, sum(pg_total_relation_size(c.oid))::float8,
  coalesce(sum(s.n_dead_tup), 0)::float8, coalesce(sum(s.n_live_tup), 0)::float8
from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_stat_user_tables s on s.relid = c.oid
where c.relnamespace = $1::regnamespace and c.relkind = 'r' group by 1 order by 1`

// sampleTables looks at sessions and tables.
func (x *endurance) sampleTables(ctx context.Context) error {
	var sessions float64
	if err := x.rig.Pool.QueryRow(ctx, "select count(*)::float8 from pg_stat_activity where datname = current_database()").Scan(&sessions); err != nil {
		return fmt.Errorf("count the sessions of PostgreSQL: %w", err)
	}
	rows, err := x.rig.Pool.Query(ctx, tablesOf, x.rig.Namespace)
	if err != nil {
		return fmt.Errorf("ask for the size of tables: %w", err)
	}
	defer rows.Close()
	c := &x.courses
	c.add("sessions of PostgreSQL", sessions, false)
	var dead, live float64
	for rows.Next() {
		var name string
		var bytes, deadHere, liveHere float64
		if err := rows.Scan(&name, &bytes, &deadHere, &liveHere); err != nil {
			return fmt.Errorf("read the size of tables: %w", err)
		}
		c.add(name+": KiB of tables", bytes/1024, true)
		dead, live = dead+deadHere, live+liveHere
	}
	c.add("dead rows for each live one", dead/max(1, live), false)
	return rows.Err()
}

// grown lists the courses that are not flat.
func (c *courses) grown() (names []string) {
	for _, one := range c.all {
		if !one.flat() {
			names = append(names, one.String())
		}
	}
	return names
}

// table writes all samples, one a line, with tabs between.
func (c *courses) table() string {
	var t strings.Builder
	t.WriteString("seconds\tevents")
	for _, one := range c.all {
		t.WriteString("\t" + one.name)
	}
	for i, at := range c.at {
		fmt.Fprintf(&t, "\n%.0f\t%.0f", at.Seconds(), c.events[i])
		for _, one := range c.all {
			if i < len(one.values) {
				fmt.Fprintf(&t, "\t%.4g", one.values[i])
			}
		}
	}
	return t.String() + "\n"
}

// summary writes for every course what it was in its thirds, and its tolerance.
func (c *courses) summary() string {
	var t strings.Builder
	for _, one := range c.all {
		verdict := "flat"
		if !one.flat() {
			verdict = "GROWS"
		}
		fmt.Fprintf(&t, "%-5s %s; most %.4g (tolerance %.0f %% + %g)\n", verdict, one, slices.Max(one.values), 100*one.share, one.room)
	}
	return t.String()
}
