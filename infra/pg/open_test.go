package pg_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/infra/pg"
	"seckill/infra/pg/pgtest"
	"seckill/infra/testenv"
)

func asOwner(t *testing.T, url string, sql ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, s := range sql {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// sentence checks that err is one sentence with all the words and none of the secrets.
func sentence(t *testing.T, err error, words ...string) {
	t.Helper()
	var p *pg.Problem
	if !errors.As(err, &p) {
		t.Errorf("got %v, want a Problem", err)
		return
	}
	got := p.Error()
	for _, w := range words {
		if !strings.Contains(got, w) {
			t.Errorf("got %q, want it to say %q", got, w)
		}
	}
	if strings.Contains(got, "\n") || !strings.HasSuffix(got, ".") || strings.Contains(got, "hunter2") {
		t.Errorf("got %q, want one sentence without secrets", got)
	}
}

func through(t *testing.T, base string, change func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	return u.String()
}

func TestAPoolWorksAsTheApplicationAndMayNotChangeTheSchema(t *testing.T) {
	pool, _, ns := pgtest.New(t)
	var user, path, zone string
	err := pool.QueryRow(t.Context(), "select current_user, current_setting('search_path'), current_setting('timezone')").Scan(&user, &path, &zone)
	if err != nil || user != ns+"_app" || path != ns || zone != "UTC" {
		t.Errorf("got user %s, search path %s, zone %s, %v; want %s_app, %s, UTC", user, path, zone, err, ns, ns)
	}
	for _, sql := range []string{"create table x (i int)", "update order_keys set number = 2", "update store set number = 2", "drop table events"} {
		if _, err := pool.Exec(t.Context(), sql); pg.SQLState(err) != "42501" {
			t.Errorf("%s: got %v, want it refused", sql, err)
		}
	}
}

func TestWhatIsWrongWithADatabaseURLIsOneSentenceWithoutSecrets(t *testing.T) {
	_, owner, ns := pgtest.New(t)
	open := func(url string) error {
		pool, err := pg.Open(t.Context(), url, pg.Options{Namespace: ns})
		if err == nil {
			pool.Close()
		}
		return err
	}
	sentence(t, open("postgres://u:hunter2@127.0.0.1:99999999/x"), "cannot be read")
	sentence(t, open("postgres://u:hunter2@127.0.0.1:1/x"), "127.0.0.1:1", "cannot be reached")
	sentence(t, open(through(t, owner, func(u *url.URL) { u.Path = "/missing_db" })), "missing_db")
	sentence(t, open(through(t, owner, func(u *url.URL) { u.User = url.UserPassword("nobody_"+ns, "hunter2") })), "nobody_"+ns)
	sentence(t, pg.Migrate(t.Context(), "postgres://u:hunter2@127.0.0.1:1/x", ns), "cannot be reached")
	if err := open(owner); err != nil {
		t.Errorf("the good URL: %v", err)
	}
	if err := pg.ValidNamespace("Robert'); drop"); err == nil {
		t.Error("a namespace that is SQL: got no error")
	}
}

func TestASchemaThatIsMissingOlderOrNewerIsRefusedInASentence(t *testing.T) {
	owner, ns := pgtest.NewEmpty(t)
	open := func() error {
		pool, err := pg.Open(t.Context(), owner, pg.Options{Namespace: ns})
		if err == nil {
			pool.Close()
		}
		return err
	}
	status := func() pg.SchemaStatus {
		s, err := pg.Status(t.Context(), owner, ns)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	sentence(t, open(), ns, "migrate up")
	latest := status().Latest
	if s := status(); s.Version != 0 || len(s.Pending) != latest || latest == 0 {
		t.Errorf("status of nothing: got %+v, want all pending", s)
	}
	if err := pg.Migrate(t.Context(), owner, ns); err != nil {
		t.Fatal(err)
	}
	if s := status(); s.Version != latest || len(s.Pending) != 0 {
		t.Errorf("status after migrating: got %+v, want nothing pending", s)
	}
	asOwner(t, owner, fmt.Sprintf("update %s.schema_version set version = 0", ns))
	sentence(t, open(), "migrate up")
	asOwner(t, owner, fmt.Sprintf("update %s.schema_version set version = %d", ns, latest+1))
	sentence(t, open(), "newer seckill")
	sentence(t, pg.Migrate(t.Context(), owner, ns), "newer seckill")
	says := func(oldest int) {
		asOwner(t, owner, fmt.Sprintf("delete from %[1]s.schema_compatibility where version = %[2]d; insert into %[1]s.schema_compatibility values (%[2]d, %[3]d)", ns, latest+1, oldest))
	}
	says(latest + 1)
	sentence(t, open(), "newer seckill")
	says(latest)
	if err := errors.Join(open(), pg.Migrate(t.Context(), owner, ns)); err != nil {
		t.Errorf("a newer schema that says it is good for this program: %v", err)
	}
	if s := status(); s.Version != latest+1 || s.OldestProgram != latest || len(s.Pending) != 0 {
		t.Errorf("status of such a schema: got %+v", s)
	}
}

func TestWhatIsAwayIsToldFromWhatWasRefused(t *testing.T) {
	pool, owner, _ := pgtest.New(t)
	_, nobody := pgx.Connect(t.Context(), through(t, owner, func(u *url.URL) { u.Host = "127.0.0.1:1" }))
	conn, err := pgx.Connect(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	_, ended := conn.Exec(t.Context(), "select pg_terminate_backend(pg_backend_pid())")
	_, slow := pool.Exec(t.Context(), "set statement_timeout = 1; select pg_sleep(10)")
	_, wrong := pool.Exec(t.Context(), "select nothing")
	for what, c := range map[string]struct {
		err  error
		away bool
	}{
		"nobody listens": {fmt.Errorf("x: %w", nobody), true}, "the session was ended": {ended, true}, "it was too slow": {slow, true},
		"a refusal": {wrong, false}, "no row": {pgx.ErrNoRows, false}, "nothing": {nil, false},
	} {
		if c.err == nil && what != "nothing" || pg.Away(c.err) != c.away {
			t.Errorf("%s: %v is away: %t, want %t", what, c.err, pg.Away(c.err), c.away)
		}
	}
}

func TestASchemaWhoseVersionIsLostIsRefusedInASentence(t *testing.T) {
	_, owner, ns := pgtest.New(t)
	asOwner(t, owner, "delete from "+ns+".schema_version")
	_, err := pg.Open(t.Context(), owner, pg.Options{Namespace: ns})
	sentence(t, err, ns+".schema_version", "restore it")
	sentence(t, pg.Migrate(t.Context(), owner, ns), ns+".schema_version", "restore it")
	_, err = pg.Status(t.Context(), owner, ns)
	sentence(t, err, ns+".schema_version", "restore it")
}

func TestManyNodesMayMigrateAtOnceAndNamespacesNeverMeet(t *testing.T) {
	ownerURL, one := pgtest.NewEmpty(t)
	_, other := pgtest.NewEmpty(t)
	errs := make([]error, 6)
	var todo sync.WaitGroup
	for i := range errs {
		ns := one
		if i%2 == 1 {
			ns = other
		}
		todo.Go(func() { errs[i] = pg.Migrate(t.Context(), ownerURL, ns) })
	}
	todo.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	ids := map[string]pg.Identity{}
	for _, ns := range []string{one, other} {
		ids[ns] = identity(t, ownerURL, ns)
	}
	if ids[one].UUID == ids[other].UUID || string(ids[one].OrderKeys[1]) == string(ids[other].OrderKeys[1]) {
		t.Error("two namespaces share an identity or a key")
	}
	if again := identity(t, ownerURL, one); again.UUID != ids[one].UUID || string(again.OrderKeys[1]) != string(ids[one].OrderKeys[1]) {
		t.Error("the identity changed between two reads")
	}
	if pg.LockKey(one, "log") == pg.LockKey(other, "log") || pg.LockKey(one, "log") == pg.LockKey(one, "migrate") {
		t.Error("two locks share a key")
	}
}

func identity(t *testing.T, url, ns string) pg.Identity {
	t.Helper()
	pool, err := pg.Open(t.Context(), url, pg.Options{Namespace: ns, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	id, err := pg.LoadIdentity(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	if id.Store != 1 || id.NewestKey != 1 || len(id.OrderKeys) != 1 || len(id.OrderKeys[1]) != 32 {
		t.Errorf("got store %d, newest key %d, %d keys of %d bytes; want store 1 and one key of 32 bytes",
			id.Store, id.NewestKey, len(id.OrderKeys), len(id.OrderKeys[1]))
	}
	return id
}

func TestALoginWithoutRightsIsToldWhatToAskForAndThenIsEnough(t *testing.T) {
	ownerURL, ns := pgtest.NewEmpty(t)
	login := ns + "_login"
	asOwner(t, ownerURL, "create role "+login+" login password 'hunter2'")
	url := through(t, ownerURL, func(u *url.URL) { u.User = url.UserPassword(login, "hunter2") })
	sentence(t, pg.Migrate(t.Context(), url, ns), "CREATE ROLE "+ns+"_owner", "GRANT")
	asOwner(t, ownerURL, "create role "+ns+"_owner", "create role "+ns+"_app", "grant "+ns+"_owner to "+login)
	sentence(t, pg.Migrate(t.Context(), url, ns), "GRANT "+ns+"_app")
	asOwner(t, ownerURL, "grant "+ns+"_app to "+login)
	sentence(t, pg.Migrate(t.Context(), url, ns), "CREATE SCHEMA "+ns+" AUTHORIZATION "+ns+"_owner")
	asOwner(t, ownerURL, "create schema "+ns+" authorization "+ns+"_owner")
	if err := pg.Migrate(t.Context(), url, ns); err != nil {
		t.Fatalf("with all it asked for: %v", err)
	}
	identity(t, url, ns)
	asOwner(t, ownerURL, "revoke "+ns+"_app from "+login)
	_, err := pg.Open(t.Context(), url, pg.Options{Namespace: ns})
	sentence(t, err, "GRANT "+ns+"_app TO")
}

func TestALoginThatMayCreateRolesMigratesByItself(t *testing.T) {
	ownerURL, ns := pgtest.NewEmpty(t)
	login := ns + "_login"
	asOwner(t, ownerURL, "create role "+login+" login createrole password 'hunter2'",
		"create role "+ns+"_owner", "grant "+ns+"_owner to "+login, "create schema "+ns+" authorization "+ns+"_owner")
	url := through(t, ownerURL, func(u *url.URL) { u.User = url.UserPassword(login, "hunter2") })
	if err := pg.Migrate(t.Context(), url, ns); err != nil {
		t.Fatal(err)
	}
	identity(t, url, ns)
}

func TestATransactionIsRolledBackOnErrorAndPanicAlsoWhenTheCallerHungUp(t *testing.T) {
	pool, _, _ := pgtest.New(t)
	ctx, hangUp := context.WithCancel(t.Context())
	mine := errors.New("mine")
	err := pg.InTx(ctx, pool, func(tx pgx.Tx) error {
		insertCursor(t, tx, 1)
		hangUp()
		return mine
	})
	if err != mine {
		t.Errorf("got %v, want the very error of the function", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = pg.InTx(t.Context(), pool, func(tx pgx.Tx) error { insertCursor(t, tx, 2); panic("oops") })
	}()
	if err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error { insertCursor(t, tx, 3); return nil }); err != nil {
		t.Error(err)
	}
	if n := count(t, pool, "select count(*) from cursors"); n != 1 {
		t.Errorf("got %d rows, want the committed one", n)
	}
	if n := pool.Stat().AcquiredConns(); n != 0 {
		t.Errorf("got %d connections still taken, want none", n)
	}
}

func TestAnErrorOfTheCommitIsReturned(t *testing.T) {
	pool, _, _ := pgtest.New(t)
	err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		_, _ = tx.Exec(t.Context(), "select 1/0") // an error somebody forgot to look at
		return nil
	})
	if !errors.Is(err, pgx.ErrTxCommitRollback) {
		t.Errorf("got %v, want the commit to say that it rolled back", err)
	}
}

func insertCursor(t *testing.T, tx pgx.Tx, lane int) {
	t.Helper()
	if _, err := tx.Exec(context.WithoutCancel(t.Context()), "insert into cursors (lane, epoch, n, digest) values ($1, 1, 1, '')", lane); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, pool *pgxpool.Pool, sql string) (n int64) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAServerThatDoesNotEvenStopAStatementIsNotWaitedForWithoutEnd(t *testing.T) {
	_, url, ns := pgtest.New(t)
	pool, err := pg.Open(t.Context(), url, pg.Options{Namespace: ns, StatementTimeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	// A session without a statement timeout stands for a server that hangs.
	hang := func(ctx context.Context, seconds int) error {
		return pg.InTx(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "set local statement_timeout = 0"); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "select pg_sleep($1)", seconds)
			return err
		})
	}
	if err := hang(t.Context(), 600); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that its time was over", err)
	}
	if err := hang(pg.Patient(t.Context()), 3); err != nil {
		t.Errorf("a statement that may take as long as it takes: got %v", err)
	}
	batch := &pgx.Batch{}
	batch.Queue("set statement_timeout = 0")
	batch.Queue("select pg_sleep(600)")
	if err := pool.SendBatch(t.Context(), batch).Close(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("statements sent together: got %v, want that their time was over", err)
	}
}

func TestAStatementThatIsPreparedWhileTheServerHangsIsNotWaitedForWithoutEnd(t *testing.T) {
	_, url, ns := pgtest.New(t)
	proxy := testenv.Proxy(t, url)
	pool, err := pg.Open(t.Context(), proxy.URL(), pg.Options{Namespace: ns, StatementTimeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	proxy.BlackHole()
	ends := make(chan error, 1)
	go func() {
		_, err := conn.Conn().Prepare(t.Context(), "one", "select 1")
		ends <- err
	}()
	select {
	case err := <-ends:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that its time was over", err)
		}
	case <-time.After(60 * time.Second):
		t.Error("it is still waited for")
		proxy.Cut()
	}
}
