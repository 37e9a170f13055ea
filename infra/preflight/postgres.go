package preflight

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/infra/pg"
)

// setting reads one of PostgreSQL's, in its own unit ("" where the role may not see it).
func setting(ctx context.Context, db *pgxpool.Pool, name string) (value string, err error) {
	err = db.QueryRow(ctx, "select coalesce((select setting from pg_settings where name = $1), '')", name).Scan(&value)
	return value, err
}

func number(ctx context.Context, db *pgxpool.Pool, name string) (int64, error) {
	value, err := setting(ctx, db, name)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(value, 10, 64)
}

// schemaFits compares the schema with the program.
func schemaFits(ctx context.Context, s *Site) []Row {
	const name, want = "postgres.schema", "the version of this program"
	if s.DB == nil {
		return []Row{unseen(name, want, nil)}
	}
	err := pg.CheckSchema(ctx, s.DB, s.Settings.Namespace)
	var wrong *pg.Problem
	switch {
	case errors.As(err, &wrong):
		return []Row{row(name, NoGo, wrong.Sentence, want, "`seckill migrate up`")}
	case err != nil:
		return []Row{unseen(name, want, err)}
	}
	return []Row{row(name, OK, "fits", want, "")}
}

// postgresIsDurable looks whether what was committed outlives the machine.
func postgresIsDurable(ctx context.Context, s *Site) []Row {
	const name = "postgres.durable"
	if s.DB == nil {
		return []Row{unseen(name, "on", nil)}
	}
	var rows []Row
	for _, look := range []struct {
		setting string
		bad     State
		do      string
	}{
		{"fsync", NoGo, "a power cut may lose or break the log: set fsync = on"},
		{"synchronous_commit", NoGo, "what buyers were told may be lost with the machine: set synchronous_commit = on, for the server, the database and the role"},
		{"full_page_writes", Warning, "a power cut may break pages unless the file system cannot tear them: set full_page_writes = on"},
	} {
		value, err := setting(ctx, s.DB, look.setting)
		if err != nil || value == "" {
			rows = append(rows, unseen("postgres."+look.setting, "on", err))
			continue
		}
		rows = append(rows, row("postgres."+look.setting, unless(value != "off", look.bad), value, "on", look.do))
	}
	return rows
}

// postgresHasConnections compares max_connections with the pools of all processes.
func postgresHasConnections(ctx context.Context, s *Site) []Row {
	const name = "postgres.connections"
	if s.DB == nil {
		return []Row{unseen(name, "as many as all pools together", nil)}
	}
	most, err := number(ctx, s.DB, "max_connections")
	reserved, err2 := number(ctx, s.DB, "superuser_reserved_connections")
	var ours, all int64
	err3 := s.DB.QueryRow(ctx, `select count(*) filter (where application_name like 'seckill%' and datname = current_database()), count(*)
		from pg_stat_activity where backend_type = 'client backend' or backend_type is null`).Scan(&ours, &all)
	if err := errors.Join(err, err2, err3); err != nil {
		return []Row{unseen(name, "as many as all pools together", err)}
	}
	each := int64(s.Costs.NodeConns.Value)
	processes, from := int64(s.Processes), "named"
	if processes == 0 {
		processes, from = max(1, int64(math.Ceil(float64(ours)/float64(each)))), "by what is connected now, at least; name them with --processes"
	}
	others := max(0, all-ours)
	need := processes*each + others + reserved
	want := fmt.Sprintf("%d: %d processes (%s) × %d, %d others, %d reserved", need, processes, from, each, others, reserved)
	return []Row{row(name, unless(most >= need, NoGo), fmt.Sprintf("max_connections %d, %d in use", most, all), want,
		"raise max_connections, which takes a restart of PostgreSQL, or run fewer processes: a node without a connection answers 503")}
}

// postgresHeedsDeadlines looks whether the sessions carry the deadlines that were set.
func postgresHeedsDeadlines(ctx context.Context, s *Site) []Row {
	const name = "postgres.deadlines"
	want := fmt.Sprintf("statement_timeout %s in a session of the recorder", s.Settings.Deadlines.Recorder)
	if s.DB == nil {
		return []Row{unseen(name, want, nil)}
	}
	millis, err := number(ctx, s.DB, "statement_timeout")
	if err != nil {
		return []Row{unseen(name, want, err)}
	}
	got := time.Duration(millis) * time.Millisecond
	return []Row{row(name, unless(got == s.Settings.Deadlines.Recorder, NoGo), fmt.Sprintf("statement_timeout %s; then buyers' statements %s, their locks %s, within a handler of %s", got, s.Settings.Deadlines.Statement, s.Settings.Deadlines.Lock, s.Settings.Deadlines.Handler), want,
		"something between here and PostgreSQL, such as a pooler that shares sessions, drops what a session sets: connect to PostgreSQL itself")}
}

// postgresHasRoomForWAL looks at what the peak writes, against checkpoints and disk.
func postgresHasRoomForWAL(ctx context.Context, s *Site) []Row {
	const wal, disk = "postgres.wal", "postgres.disk"
	winners, known := s.winners()
	if s.DB == nil || !known {
		return []Row{unseen(wal, "no checkpoint in the middle of the sale", nil), unseen(disk, "room for the log and its WAL", nil)}
	}
	writes := int64(float64(winners) * s.Costs.LogBytes.Value)
	megabytes, err := number(ctx, s.DB, "max_wal_size")
	want := fmt.Sprintf("max_wal_size of %s or more, which %d purchases write", size(writes), winners)
	rows := []Row{unseen(wal, want, err)}
	if err == nil {
		rows[0] = row(wal, unless(megabytes<<20 >= writes, Warning), fmt.Sprintf("max_wal_size %s", size(megabytes<<20)), want, "raise max_wal_size (a reload is enough): a checkpoint in the middle of the sale slows every commit down")
	}
	return append(rows, room(ctx, s, disk, 2*writes))
}

// room looks at the disk of PostgreSQL, where its folder can be seen from here.
func room(ctx context.Context, s *Site, name string, need int64) Row {
	want := fmt.Sprintf("%s free: log and views, and their WAL", size(need))
	var folder string
	var here bool
	err := s.DB.QueryRow(ctx, "select coalesce(host(inet_server_addr()) in ('127.0.0.1', '::1'), true)").Scan(&here)
	if err == nil && here {
		folder, err = setting(ctx, s.DB, "data_directory")
	}
	if err != nil || folder == "" {
		return unseen(name, want, err)
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(folder, &fs); err != nil {
		return unseen(name, want, err)
	}
	free := int64(fs.Bavail) * int64(fs.Bsize)
	return row(name, unless(free >= need, NoGo), size(free)+" free", want, "make room, or move the WAL to another disk")
}
