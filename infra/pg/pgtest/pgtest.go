package pgtest

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/infra/pg"
)

// New migrates a namespace of its own and opens it. The pool works as the
// application's role; url is the owner's. All is dropped when the test ends.
func New(t testing.TB) (pool *pgxpool.Pool, url, namespace string) {
	t.Helper()
	url, namespace = NewEmpty(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := pg.Migrate(ctx, url, namespace); err != nil {
		t.Fatalf("migrate namespace %s: %v", namespace, err)
	}
	pool, err := pg.Open(ctx, url, pg.Options{Namespace: namespace, AppName: "test " + namespace})
	if err != nil {
		t.Fatalf("open namespace %s: %v", namespace, err)
	}
	t.Cleanup(pool.Close)
	return pool, url, namespace
}

// NewEmpty gives the owner's URL and the name of a namespace that nobody made
// yet. Whatever is made under the name is dropped when the test ends.
func NewEmpty(t testing.TB) (url, namespace string) {
	t.Helper()
	url = os.Getenv("SECKILL_TEST_DATABASE_URL")
	if url == "" {
		t.Skip("set SECKILL_TEST_DATABASE_URL")
	}
	namespace = "t" + uuid.NewString()[:8]
	t.Cleanup(func() { drop(t, url, namespace) })
	return url, namespace
}

// drop removes the schema and the roles of a namespace.
func drop(t testing.TB, url, ns string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Logf("drop namespace %s: %v", ns, err)
		return
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, "drop schema if exists "+ns+" cascade; drop role if exists "+pg.AppRole(ns)+", "+pg.OwnerRole(ns))
	if err != nil {
		t.Logf("drop namespace %s: %v", ns, err)
	}
}
