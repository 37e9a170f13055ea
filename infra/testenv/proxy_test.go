package testenv_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/infra/testenv"
)

func TestAHealthyProxyPassesEverythingOn(t *testing.T) {
	s := testenv.PrivateRedis(t, testenv.RedisOptions{})
	p := testenv.Proxy(t, s.URL)
	c := client(t, p.URL())
	big := string(make([]byte, 1<<20))
	if err := c.Set(t.Context(), "k", big, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Get(t.Context(), "k").Result(); err != nil || got != big {
		t.Errorf("got %d bytes, %v want %d", len(got), err, len(big))
	}
}

func TestADroppedReplyBelongsToARequestThatWasCarriedOut(t *testing.T) {
	s := testenv.PrivateRedis(t, testenv.RedisOptions{})
	p := testenv.Proxy(t, s.URL)
	c, direct := client(t, p.URL()), client(t, s.URL)
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	p.DropReplies(1)
	if err := c.Incr(t.Context(), "n").Err(); err == nil {
		t.Error("the reply came through")
	}
	if got := direct.Get(t.Context(), "n").Val(); got != "1" {
		t.Errorf("the request was not carried out: n is %q", got)
	}
	if p.Dropped() != 1 {
		t.Errorf("dropped: got %d want 1", p.Dropped())
	}
	if got, err := c.Incr(t.Context(), "n").Result(); err != nil || got != 2 {
		t.Errorf("the next request: got %d, %v want 2", got, err)
	}
}

func TestTheReplyToANamedRequestIsDropped(t *testing.T) {
	url := testenv.Postgres(t)
	ns := testenv.Namespace(t)
	p := testenv.Proxy(t, url)
	conn, err := pgx.Connect(t.Context(), p.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	query(t, url, "CREATE SCHEMA "+ns)
	query(t, url, "CREATE TABLE "+ns+".done AS SELECT 'no' AS v")
	p.DropReplyTo("commit")
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "UPDATE "+ns+".done SET v = 'yes'"); err != nil {
		t.Fatalf("a request that was not named: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := tx.Commit(ctx); err == nil {
		t.Error("the reply to the commit came through")
	}
	testenv.Eventually(t, 10*time.Second, func() error {
		if query(t, url, "SELECT v FROM "+ns+".done") != "yes" {
			return context.DeadlineExceeded
		}
		return nil
	})
	if p.Dropped() != 1 {
		t.Errorf("dropped: got %d want 1", p.Dropped())
	}
}

func TestRepliesAreDelayed(t *testing.T) {
	p := testenv.Proxy(t, testenv.PrivateRedis(t, testenv.RedisOptions{}).URL)
	c := client(t, p.URL())
	p.Delay(50 * time.Millisecond)
	begin := time.Now()
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < 50*time.Millisecond {
		t.Errorf("answered after %s want at least 50ms", took)
	}
}

func TestABlackHoleHoldsEverythingUntilItHeals(t *testing.T) {
	s := testenv.PrivateRedis(t, testenv.RedisOptions{})
	p := testenv.Proxy(t, s.URL)
	c, direct := client(t, p.URL()), client(t, s.URL)
	c.Ping(t.Context())
	p.BlackHole()
	if err := c.Set(t.Context(), "k", "v", 0).Err(); err == nil {
		t.Error("an answer came out of the black hole")
	}
	if n := direct.Exists(t.Context(), "k").Val(); n != 0 {
		t.Error("a request went through the black hole")
	}
	p.Heal()
	testenv.Eventually(t, 10*time.Second, func() error { return c.Ping(t.Context()).Err() })
}

func TestACutNetworkRefusesUntilItHeals(t *testing.T) {
	p := testenv.Proxy(t, testenv.PrivateRedis(t, testenv.RedisOptions{}).URL)
	c := client(t, p.URL())
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	p.Cut()
	for range 3 {
		begin := time.Now()
		if err := c.Ping(t.Context()).Err(); err == nil {
			t.Error("an answer came through a cut network")
		} else if time.Since(begin) > 10*time.Second {
			t.Error("a cut network does not refuse at once")
		}
	}
	p.Heal()
	testenv.Eventually(t, 10*time.Second, func() error { return c.Ping(t.Context()).Err() })
}

func TestAResetEndsConnectionsOnce(t *testing.T) {
	p := testenv.Proxy(t, testenv.PrivateRedis(t, testenv.RedisOptions{}).URL)
	c := client(t, p.URL())
	id := c.ClientID(t.Context()).Val()
	p.Reset()
	testenv.Eventually(t, 10*time.Second, func() error { return c.Ping(t.Context()).Err() })
	if again := c.ClientID(t.Context()).Val(); again == id || again == 0 {
		t.Errorf("the connection outlived the reset: %d then %d", id, again)
	}
}
