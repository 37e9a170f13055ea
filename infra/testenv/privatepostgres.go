package testenv

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/infra/embedded"
)

// PostgresServer is a PostgreSQL cluster of one test, on one address for its
// whole life, with an empty database. Its superuser comes by password; so do
// standbys and backups.
type PostgresServer struct {
	// URL is where it listens, whether it lives or not, as the superuser.
	URL string

	t    testing.TB
	o    PostgresOptions
	bin  string
	root string // holds data, sockets and log
	port int
	// password is no secret of anybody: whoever reads the folder's name is on this
	// machine, and the cluster lives as long as a test.
	password string
	cred     *syscall.Credential // whom it runs as; nil for ourselves
	proc     *child              // nil while it does not run
}

const (
	privateUser     = "postgres"
	privateDatabase = "seckill"
)

// PostgresOptions change a private PostgreSQL.
type PostgresOptions struct {
	// Dir is where its data is kept, such as a SmallDisk; "" for the temporary folder.
	Dir string
	// Env are further variables of its environment, NAME=value.
	Env []string
	// Settings are further settings, NAME=value; they beat ours.
	Settings []string
	// Hosts are further addresses of this machine to listen on; who comes to them is let in
	// from everywhere, by password.
	Hosts []string
}

// PrivatePostgres starts an empty cluster that ends with the test, or with its
// process.
func PrivatePostgres(t testing.TB) *PostgresServer {
	t.Helper()
	return PrivatePostgresWith(t, PostgresOptions{})
}

// PrivatePostgresWith starts one with options.
func PrivatePostgresWith(t testing.TB, o PostgresOptions) *PostgresServer {
	t.Helper()
	s := newPostgresServer(t, o)
	secret := filepath.Join(s.root, "password")
	if err := errors.Join(os.WriteFile(secret, []byte(s.password), 0o600), s.give(secret)); err != nil {
		t.Fatalf("prepare private PostgreSQL: %v", err)
	}
	s.Run("initdb", "-D", s.data(), "-U", privateUser, "-E", "UTF8", "--locale=C", "--auth=scram-sha-256", "--pwfile="+secret, "--no-sync")
	s.letIn(o.Hosts)
	s.Start()
	s.Run("createdb", privateDatabase)
	return s
}

// letIn lets others in than this machine's own, where there are addresses for them.
func (s *PostgresServer) letIn(hosts []string) {
	s.t.Helper()
	if len(hosts) == 0 {
		return
	}
	f, err := os.OpenFile(filepath.Join(s.data(), "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("host all all all scram-sha-256\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		s.t.Fatalf("let others into a private PostgreSQL: %v", err)
	}
}

// newPostgresServer chooses a place and an address; nothing runs yet.
func newPostgresServer(t testing.TB, o PostgresOptions) *PostgresServer {
	t.Helper()
	bin, err := embedded.FindPostgres("")
	require(t, err)
	// The folder of a test is closed to the user that PostgreSQL runs as.
	root, err := os.MkdirTemp(o.Dir, "seckill-pg-*")
	if err != nil {
		t.Fatalf("make a folder for PostgreSQL: %v", err)
	}
	s := &PostgresServer{t: t, o: o, bin: bin, root: root, port: FreePort(t)}
	s.comeBy(filepath.Base(root))
	if s.cred, err = otherUser(); err == nil {
		err = s.give(root)
	}
	if err != nil {
		t.Fatalf("make a folder for PostgreSQL: %v", err)
	}
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			log, _ := os.ReadFile(s.log()) // there may be none
			t.Logf("log of PostgreSQL at %s:\n%s", s.Addr(), log[max(0, len(log)-4000):])
		}
		_ = os.RemoveAll(root) // the next restart of the machine removes it as well
	})
	return s
}

// comeBy sets the superuser's password, as whoever connects knows it.
func (s *PostgresServer) comeBy(password string) {
	s.password = password
	s.URL = (&url.URL{Scheme: "postgres", User: url.UserPassword(privateUser, password),
		Host: s.Addr(), Path: privateDatabase, RawQuery: "sslmode=disable"}).String()
}

// otherUser gives who PostgreSQL runs as where we are root, which it refuses.
func otherUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
	}
	return nil, errors.New("there is neither a user postgres nor nobody")
}

// give makes a file or folder the server's.
func (s *PostgresServer) give(path string) error {
	if s.cred == nil {
		return nil
	}
	return os.Chown(path, int(s.cred.Uid), int(s.cred.Gid))
}

// Addr is host:port.
func (s *PostgresServer) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.port) }

func (s *PostgresServer) data() string { return filepath.Join(s.root, "data") }
func (s *PostgresServer) log() string  { return filepath.Join(s.root, "log") }

// File gives the path of a file that the cluster's programs may write.
func (s *PostgresServer) File(name string) string { return filepath.Join(s.root, name) }

// Run runs one of PostgreSQL's programs, such as pg_dump, against this cluster as
// its superuser, and gives what it printed. Where it fails, the test fails.
func (s *PostgresServer) Run(program string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command(filepath.Join(s.bin, program), args...)
	cmd.Dir = s.root
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred}
	cmd.Env = append(os.Environ(), "LC_ALL=C", "PGHOST=127.0.0.1", "PGPORT="+strconv.Itoa(s.port), "PGUSER="+privateUser,
		"PGPASSWORD="+s.password, "PGDATABASE="+privateDatabase)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("run %s: %v\n%s", program, err, errs.String())
	}
	return string(out)
}

// Standby makes a streaming standby of this cluster and waits until it streams.
func (s *PostgresServer) Standby() *PostgresServer {
	s.t.Helper()
	b := newPostgresServer(s.t, PostgresOptions{})
	s.Run("pg_basebackup", "-D", filepath.Join(s.root, "copy"), "-X", "stream", "-R", "--checkpoint=fast", "--no-sync")
	if err := os.Rename(filepath.Join(s.root, "copy"), b.data()); err != nil {
		s.t.Fatalf("make a standby: %v", err)
	}
	b.comeBy(s.password) // it is in the copy
	b.Start()
	s.AwaitCaughtUp(b)
	return b
}

// AwaitCaughtUp waits until a standby has replayed all that s has written.
func (s *PostgresServer) AwaitCaughtUp(standby *PostgresServer) {
	s.t.Helper()
	written := s.ask("select pg_current_wal_lsn()::text")
	Eventually(s.t, 30*time.Second, func() error {
		if there, err := standby.query("select (pg_last_wal_replay_lsn() >= '" + written + "')::text"); err != nil || there != "true" {
			return fmt.Errorf("the standby has not replayed %s yet: %q, %v", written, there, err)
		}
		return nil
	})
}

// Promote makes a standby a primary, with what it has.
func (s *PostgresServer) Promote() {
	s.t.Helper()
	if s.ask("select pg_promote(true, 30)::text") != "true" {
		s.t.Fatal("the standby was not promoted")
	}
}

func (s *PostgresServer) ask(sql string) string {
	s.t.Helper()
	text, err := s.query(sql)
	if err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return text
}

func (s *PostgresServer) query(sql string) (text string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return "", err
	}
	err = conn.QueryRow(ctx, sql).Scan(&text)
	return text, errors.Join(err, conn.Close(ctx))
}

// Kill ends it as a power cut would.
func (s *PostgresServer) Kill() { s.end(syscall.SIGQUIT) }

// Stop ends it in order.
func (s *PostgresServer) Stop() { s.end(syscall.SIGINT) }

func (s *PostgresServer) end(sig syscall.Signal) {
	if s.proc == nil {
		return
	}
	_ = syscall.Kill(s.proc.pid, sig) // it may have ended by itself
	<-s.proc.done
	s.proc = nil
}

// Start starts it on what it has on disk, and returns when it answers.
func (s *PostgresServer) Start() {
	s.t.Helper()
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatalf("start private PostgreSQL: %v", err)
	}
	defer log.Close()
	args := []string{"-D", s.data()}
	for _, setting := range append([]string{
		"port=" + strconv.Itoa(s.port), "listen_addresses=" + strings.Join(append([]string{"127.0.0.1"}, s.o.Hosts...), ","), "unix_socket_directories=", "fsync=off", "full_page_writes=off", "shared_buffers=32MB", "max_connections=200",
	}, s.o.Settings...) {
		args = append(args, "-c", setting)
	}
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = s.root, log, log, append(os.Environ(), s.o.Env...)
	proc, err := startChildAs(cmd, s.cred)
	if err != nil {
		s.t.Fatalf("start private PostgreSQL: %v", err)
	}
	s.proc = proc
	probe := strings.Replace(s.URL, "/"+privateDatabase, "/postgres", 1)
	Eventually(s.t, 30*time.Second, func() error {
		select {
		case <-proc.done:
			s.proc = nil
			s.t.Fatal("the private PostgreSQL ended while it started")
		default:
		}
		conn, err := pgx.Connect(context.Background(), probe)
		if err != nil {
			return err
		}
		return conn.Close(context.Background())
	})
}
