package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSeveralDatabasesAreListedMainFirst(t *testing.T) {
	clean(t)
	t.Setenv("SECKILL_DATABASE_URL", "postgres://app:geheim@a/s")
	t.Setenv("SECKILL_REDIS_URL", "redis://r")
	t.Setenv("SECKILL_DATABASES", "b=postgres://app:geheim@b/s  c-2=postgresql://app:geheim@c/s?sslmode=require")
	t.Setenv("SECKILL_OWNER_DATABASES", "b=postgres://owner:geheim@b/s")
	t.Setenv("SECKILL_VIEWS_DATABASES", "c-2=postgres://app:geheim@c-replica/s")
	s := load(t, "--views-database-url", "postgres://app:geheim@a-replica/s")
	want := []Database{
		{Name: "main", URL: "postgres://app:geheim@a/s", Owner: "postgres://app:geheim@a/s", Views: "postgres://app:geheim@a-replica/s"},
		{Name: "b", URL: "postgres://app:geheim@b/s", Owner: "postgres://owner:geheim@b/s"},
		{Name: "c-2", URL: "postgresql://app:geheim@c/s?sslmode=require", Owner: "postgresql://app:geheim@c/s?sslmode=require", Views: "postgres://app:geheim@c-replica/s"},
	}
	if d := cmp.Diff(want, s.EventStores()); d != "" || !s.Several() {
		t.Errorf("databases (-want +got), several %v:\n%s", s.Several(), d)
	}
	alone := s.On(want[1])
	if d := cmp.Diff([]Database{{Name: "main", URL: want[1].URL, Owner: want[1].Owner}}, alone.EventStores()); d != "" || alone.Several() {
		t.Errorf("on one of them (-want +got), several %v:\n%s", alone.Several(), d)
	}
	if shown := fmt.Sprintf("%v %#v", s, s); strings.Contains(shown, "geheim") || !strings.Contains(shown, "b=postgres://app:xxxxx@b/s") {
		t.Errorf("shown as %s", shown)
	}
}

func TestOneDatabaseIsOne(t *testing.T) {
	clean(t)
	if s := load(t); s.Several() || len(s.EventStores()) != 1 || s.EventStores()[0].Name != MainDatabase {
		t.Errorf("got %v", s.EventStores())
	}
}

func TestDatabasesThatCannotBeAreRefusedWithoutTheirSecrets(t *testing.T) {
	const first = "--database-url=postgres://h/s "
	for args, want := range map[string]string{
		"--databases=b=postgres://:geheim@b/s":                                            "SECKILL_DATABASE_URL is not",
		first + "--databases=postgres://:geheim@b/s":                                      "SECKILL_DATABASES must be a list of NAME=URL",
		first + "--databases=B=postgres://:geheim@b/s":                                    "SECKILL_DATABASES must be a list of NAME=URL",
		first + "--databases=b=http://:geheim@b/s":                                        "SECKILL_DATABASES must be a list of NAME=URL",
		first + "--databases=main=postgres://:geheim@b/s":                                 "must not name main",
		first + "--databases=b=postgres://h/s":                                            "it is one database",
		first + "--owner-databases=b=postgres://:geheim@b/s":                              "SECKILL_OWNER_DATABASES names b, which",
		first + "--databases=b=postgres://b/s --views-databases=c=postgres://:geheim@b/s": "SECKILL_VIEWS_DATABASES names c, which",
		first + "--databases=b=postgres://b/s --owner-databases=b":                        "SECKILL_OWNER_DATABASES must be a list",
		first + "--databases=b=postgres://:geheim@b/s":                                    "but SECKILL_REDIS_URL is not",
		first + "--views-database-url=http://:geheim@b/s":                                 "SECKILL_VIEWS_DATABASE_URL must be an address",
		"--views-database-url=postgres://:geheim@b/s":                                     "a private database has no replica",
	} {
		clean(t)
		_, err := Load(strings.Fields(args))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: got %v, want that it says %q", args, err, want)
		}
	}
	clean(t)
	t.Setenv("SECKILL_DATABASE_URL", "postgres://h/s")
	t.Setenv("SECKILL_DATABASES", "b=postgres://:geheim@b/s b=postgres://:geheim@c/s")
	if _, err := Load(nil); err == nil || !strings.Contains(err.Error(), "each name once") {
		t.Errorf("a name twice: got %v", err)
	}
}
