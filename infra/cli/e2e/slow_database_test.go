package e2e

import (
	"context"
	wire "encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/infra/testenv"
)

// questions counts what buyers' connections ask of PostgreSQL: round trips of
// statements, and connections. Others pass uncounted.
type questions struct {
	addr  string
	count atomic.Int64
	conns sync.WaitGroup
}

// countQuestions stands between a program and PostgreSQL at target.
func countQuestions(t *testing.T, target string) *questions {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	q := &questions{addr: l.Addr().String()}
	q.conns.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			q.conns.Go(func() { q.serve(client, target) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); q.conns.Wait() }) // the program has ended by then
	return q
}

func (q *questions) serve(client net.Conn, target string) {
	server, err := net.Dial("tcp", target)
	if err != nil {
		_ = client.Close()
		return
	}
	q.conns.Go(func() {
		_, _ = io.Copy(client, server) // ends with either side
		_ = client.Close()
	})
	_ = q.pass(client, server)
	_, _ = client.Close(), server.Close()
}

// pass reads what the client says message by message.
func (q *questions) pass(client io.Reader, server io.Writer) error {
	buyers := false
	for first := true; ; {
		head := make([]byte, 5)
		if first {
			head = head[:4]
		}
		if _, err := io.ReadFull(client, head); err != nil {
			return err
		}
		length := int(wire.BigEndian.Uint32(head[len(head)-4:])) - 4
		if length < 0 || length > 1<<24 {
			return errors.New("no message of PostgreSQL")
		}
		body := make([]byte, length)
		if _, err := io.ReadFull(client, body); err != nil {
			return err
		}
		switch {
		case first && length == 4: // may it be encrypted? the server says no, and the start follows
		case first:
			first = false
			buyers = strings.Contains(string(body), "seckill sale")
			q.add(buyers)
		default:
			q.add(buyers && (head[0] == 'S' || head[0] == 'Q'))
		}
		if _, err := server.Write(append(head, body...)); err != nil {
			return err
		}
	}
}

func (q *questions) add(counts bool) {
	if counts {
		q.count.Add(1)
	}
}

// behind gives a database's URL by way of another address, unencrypted.
func behind(t *testing.T, database, addr string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = addr
	values := u.Query()
	values.Set("sslmode", "disable")
	u.RawQuery = values.Encode()
	return u.String()
}

// ask lets buyers look at their order at once, rounds times each, and counts the
// statuses.
func askForOrder(c *Client, buyer, order string, at, rounds int) map[int]int {
	var mu sync.Mutex
	statuses := map[int]int{}
	var all sync.WaitGroup
	for range at {
		all.Go(func() {
			for range rounds {
				a, err := c.Order(buyer, order, "")
				if err != nil {
					a.Status = -1
				}
				mu.Lock()
				statuses[a.Status]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return statuses
}

func TestB73ASlowDatabaseIsNotAskedMoreForIt(t *testing.T) {
	rig := NewRig(t)
	slow := testenv.Proxy(t, rig.URL)
	q := countQuestions(t, slow.Addr())
	child := ServeRig(t, rig, "SECKILL_DATABASE_URL="+behind(t, rig.URL, q.addr), "SECKILL_LIMIT_POLLS=0")
	c := NewClient(child.URL)
	sale := c.CreateSale(t, 10)
	var order string
	testenv.Eventually(t, 30*time.Second, func() error {
		a, err := c.Buy(sale, "u", "k")
		if order = a.Text("order_id"); err == nil && order == "" {
			err = errStatus(a)
		}
		return err
	})
	placed := func() error {
		a, err := c.Order("u", order, "")
		if err == nil && (a.Status != http.StatusOK || a.Text("status") != "placed") {
			err = errStatus(a)
		}
		return err
	}
	testenv.Eventually(t, 30*time.Second, placed)

	const at, rounds = 10, 5
	slow.Delay(5 * time.Second)
	before := q.count.Load()
	statuses := askForOrder(c, "u", order, at, rounds)
	during := q.count.Load() - before
	if before == 0 || during == 0 {
		t.Error("no question was counted: the test tested nothing")
	}
	if during > 3*at*rounds {
		t.Errorf("%d looks at an order became %d questions to a database that is slow, want at most 3 each", at*rounds, during)
	}
	if n := statuses[http.StatusServiceUnavailable] + statuses[http.StatusOK]; n != at*rounds {
		t.Errorf("while the database is slow buyers hear %v, want 200 or 503", statuses)
	}
	slow.Heal()
	testenv.Eventually(t, 60*time.Second, placed)
	before = q.count.Load()
	statuses = askForOrder(c, "u", order, at, rounds)
	if got := q.count.Load() - before; got > 3*at*rounds || statuses[http.StatusOK] != at*rounds {
		t.Errorf("after it is well %d looks became %d questions and ended %v", at*rounds, got, statuses)
	}
	t.Logf("%d looks at an order: %d questions while it is slow", at*rounds, during)
}

// TestB73WhatNobodyWaitsForIsNotWorkedOn: who gave up leaves no statement behind.
func TestB73WhatNobodyWaitsForIsNotWorkedOn(t *testing.T) {
	rig := NewRig(t)
	child := ServeRig(t, rig)
	c := NewClient(child.URL)
	sale := c.CreateSale(t, 10)
	var order string
	testenv.Eventually(t, 30*time.Second, func() error {
		a, err := c.Buy(sale, "u", "k")
		if order = a.Text("order_id"); err == nil && order == "" {
			err = errStatus(a)
		}
		return err
	})
	conn, err := pgx.Connect(t.Context(), rig.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "lock table "+pgx.Identifier{rig.Namespace, "order_view"}.Sanitize()+" in access exclusive mode"); err != nil {
		t.Fatal(err)
	}
	for status, n := range askForOrder(c, "u", order, 8, 2) {
		if status != http.StatusOK && status != http.StatusServiceUnavailable {
			t.Errorf("while the view is locked %d looks end with %d, want 200 or 503", n, status)
		}
	}
	watcher, err := pgx.Connect(t.Context(), rig.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close(context.Background())
	testenv.Eventually(t, 20*time.Second, func() error {
		var waiting int
		err := watcher.QueryRow(t.Context(), `select count(*) from pg_stat_activity where datname = current_database()
			and application_name = 'seckill sale' and state = 'active'`).Scan(&waiting)
		if err == nil && waiting > 0 {
			err = fmt.Errorf("%d statements are worked on although nobody waits", waiting)
		}
		return err
	})
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, 30*time.Second, func() error {
		a, err := c.Order("u", order, "")
		if err == nil && (a.Status != http.StatusOK || a.Text("status") != "placed") {
			err = errStatus(a)
		}
		return err
	})
}
