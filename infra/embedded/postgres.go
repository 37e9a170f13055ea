package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// database is the one database of a private PostgreSQL, superuser its user.
const (
	database  = "seckill"
	superuser = "postgres"
)

// postgres makes a private PostgreSQL out of found programs.
type postgres struct {
	bin       string
	version   string // as postgres --version prints it
	dir       string
	cred      *syscall.Credential
	ephemeral bool
}

// postgresServer finds programs that fit the data folder, and its place.
func postgresServer(ctx context.Context, o Options) (server, error) {
	cred, err := serverUser()
	if err != nil {
		return server{}, err
	}
	placing, err := waitLock(ctx, filepath.Join(o.DataDir, "place.lock"), syscall.LOCK_EX)
	if err != nil {
		return server{}, err
	}
	defer placing.Close()
	dir, err := postgresPlace(o.DataDir, cred)
	if err != nil {
		return server{}, err
	}
	p := postgres{dir: dir, cred: cred, ephemeral: o.Ephemeral}
	if err := p.choose(o.PostgresBin); err != nil {
		return server{}, err
	}
	return server{name: "PostgreSQL", dir: dir, signal: "INT", cred: cred, prepare: p.prepare, ping: pingPostgres}, nil
}

func (p *postgres) data() string { return filepath.Join(p.dir, "data") }

// choose takes the first found programs that can open the data folder.
func (p *postgres) choose(setting string) error {
	folders := postgresFolders(setting)
	if len(folders) == 0 {
		return &NotFoundError{Server: "PostgreSQL", Setting: setting}
	}
	raw, err := os.ReadFile(filepath.Join(p.data(), "PG_VERSION"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read version of the data folder: %w", err)
	}
	wanted := strings.TrimSpace(string(raw))
	var seen []string
	for _, bin := range folders {
		out, err := exec.Command(filepath.Join(bin, "postgres"), "--version").Output()
		if err != nil {
			return fmt.Errorf("ask %s for its version: %w", bin, err)
		}
		p.bin, p.version = bin, strings.TrimSpace(string(out))
		if wanted == "" || p.ephemeral || major(p.version) == wanted {
			return nil
		}
		seen = append(seen, major(p.version))
	}
	return fmt.Errorf("the data in %s was written by PostgreSQL %s, but only PostgreSQL %s was found; install version %s or use another data folder",
		p.dir, wanted, strings.Join(seen, ", "), wanted)
}

// major takes "15" out of "postgres (PostgreSQL) 15.4 (Debian 15.4-1)".
func major(version string) string {
	number, _, _ := strings.Cut(firstNumber.FindString(version), ".")
	return number
}

func (p *postgres) prepare(ctx context.Context) (launch, error) {
	if p.ephemeral {
		if err := os.RemoveAll(p.data()); err != nil {
			return launch{}, fmt.Errorf("remove data of an earlier run: %w", err)
		}
	}
	if _, err := os.Stat(p.data()); errors.Is(err, os.ErrNotExist) {
		if err := p.fill(ctx); err != nil {
			return launch{}, err
		}
	}
	sockets, err := p.socketDir()
	if err != nil {
		return launch{}, err
	}
	port, err := freePort()
	if err != nil {
		return launch{}, err
	}
	password := randomText()
	run := running{
		URL: (&url.URL{Scheme: "postgres", User: url.UserPassword(superuser, password),
			Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Path: database, RawQuery: "sslmode=disable"}).String(),
		Port: port, Version: firstNumber.FindString(p.version),
	}
	ready := func(ctx context.Context) error { return setPassword(ctx, sockets, port, password) }
	return launch{argv: p.command(port, sockets), run: run, ready: ready}, nil
}

func (p *postgres) command(port int, sockets string) []string {
	settings := []string{
		"port=" + strconv.Itoa(port), "listen_addresses=127.0.0.1", "unix_socket_directories=" + quotedFolder(sockets),
		"max_connections=200", "shared_buffers=256MB", "max_wal_size=4GB", "jit=off", "fsync=on",
	}
	if p.ephemeral { // the last one of a name counts
		settings = append(settings, "fsync=off", "full_page_writes=off", "max_connections=400")
	}
	argv := []string{filepath.Join(p.bin, "postgres"), "-D", p.data()}
	for _, s := range settings {
		argv = append(argv, "-c", s)
	}
	return argv
}

// quotedFolder writes a folder as an element of one of PostgreSQL's lists of
// folders, which may hold commas, spaces and quotes then.
func quotedFolder(dir string) string { return `"` + strings.ReplaceAll(dir, `"`, `""`) + `"` }

// socketDir is only for us: whoever reaches it is let in without a password.
// Its path must fit a socket address, 107 bytes with the file name.
func (p *postgres) socketDir() (string, error) {
	dir := filepath.Join(p.dir, "sock")
	if len(dir) > 85 {
		dir = filepath.Join(os.TempDir(), hashedName(p.dir)+"-sock")
	}
	return dir, makeOwned(dir, p.cred)
}

// fill makes the data folder from the prepared one, which is made first if
// need be. It appears under its name only when it is complete.
func (p *postgres) fill(ctx context.Context) error {
	archive := templateFile(p.version)
	if !ours(archive) {
		if err := p.makeTemplate(ctx, archive); err != nil {
			return fmt.Errorf("prepare a PostgreSQL data folder: %w", err)
		}
	}
	next := p.data() + ".new"
	if err := os.RemoveAll(next); err != nil {
		return fmt.Errorf("remove half of a data folder: %w", err)
	}
	if err := unpack(ctx, archive, next, p.cred, !p.ephemeral); err != nil {
		return err
	}
	if err := os.Rename(next, p.data()); err != nil {
		return fmt.Errorf("put data folder in place: %w", err)
	}
	return nil
}

func (p *postgres) makeTemplate(ctx context.Context, archive string) error {
	scratch := filepath.Join(p.dir, "template")
	if err := os.RemoveAll(scratch); err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	err := p.tool(ctx, "", "initdb", "-D", scratch, "-U", superuser, "-E", "UTF8", "--locale=C",
		"--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync")
	if err != nil {
		return err
	}
	if err := p.tool(ctx, "CREATE DATABASE "+database+";\n", "postgres", "--single", "-D", scratch, "template1"); err != nil {
		return err
	}
	return pack(scratch, archive)
}

// tool runs one of PostgreSQL's programs as the server's user.
func (p *postgres) tool(ctx context.Context, input, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, name), args...)
	cmd.Dir = p.dir
	cmd.Env = append(cleanEnv(os.Environ()), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.cred}
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run %s: %w: %s", name, err, lastLines(string(out), 5))
	}
	return nil
}

// setPassword gives the server the password of this start; that it takes one
// is the proof that it is ready.
func setPassword(ctx context.Context, sockets string, port int, password string) error {
	cfg, err := pgx.ParseConfig(fmt.Sprintf("host=/ port=%d user=%s dbname=%s", port, superuser, database))
	if err != nil {
		return fmt.Errorf("describe the connection to the starting PostgreSQL: %w", err)
	}
	cfg.Host = sockets // a path: whatever is in it is none of the text above
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("connect to the starting PostgreSQL: %w", err)
	}
	_, err = conn.Exec(ctx, fmt.Sprintf("ALTER ROLE %s PASSWORD '%s'", superuser, password)) // hex digits
	return errors.Join(err, conn.Close(ctx))
}

func pingPostgres(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	return errors.Join(conn.Ping(ctx), conn.Close(ctx))
}
