package pgtest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/infra/pg"
	"seckill/infra/testenv"
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
	url = testenv.Postgres(t)
	return url, testenv.Namespace(t)
}
