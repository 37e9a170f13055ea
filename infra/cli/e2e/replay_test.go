package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/testenv"
)

// counter is a server that counts who comes, and answers nobody. It stands for a
// broker, a mail server, a payment provider, a gate.
type counter struct {
	addr string
	came atomic.Int64
}

func newCounter(t *testing.T) *counter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &counter{addr: l.Addr().String()}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.came.Add(1)
			_ = conn.Close() // nobody is answered
		}
	})
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	return c
}

// soldOut makes a sale, sells n units and waits until all is recorded.
func soldOut(t *testing.T, n *Node, stock, buyers int) (sale string, accepted map[string]string) {
	t.Helper()
	sale = n.Schedule(t, Terms(int64(stock)))
	accepted = n.buyers(t, sale, "buyer", buyers)
	n.AwaitDecided(t, accepted)
	return sale, accepted
}

// buyers lets so many buyers ask for one unit each, and gives the buyer of each
// order that was accepted.
func (n *Node) buyers(t testing.TB, sale, prefix string, count int) map[string]string {
	t.Helper()
	accepted := map[string]string{}
	var mu sync.Mutex
	var buying sync.WaitGroup
	for w := range 16 {
		buying.Go(func() {
			for i := w; i < count; i += 16 {
				buyer := fmt.Sprintf("%s-%04d", prefix, i)
				result, err := n.Buy(sale, buyer)
				if err != nil {
					t.Errorf("buy: %v", err)
					return
				}
				if result.Order.ID == "" {
					continue // sold out
				}
				mu.Lock()
				accepted[result.Order.ID] = buyer
				mu.Unlock()
			}
		})
	}
	buying.Wait()
	return accepted
}

// tables gives a digest of every row of every table of a namespace.
func tables(t *testing.T, r *Rig) map[string]string {
	t.Helper()
	owner, err := pgx.Connect(t.Context(), r.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close(context.WithoutCancel(t.Context()))
	rows, err := owner.Query(t.Context(), `select relname from pg_class c where relnamespace = $1::regnamespace and relkind = 'r'`, r.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) < 8 {
		t.Fatalf("got tables %v, %v", names, err)
	}
	all := map[string]string{}
	for _, name := range names {
		var digest string
		sql := fmt.Sprintf("select count(*) || ' ' || coalesce(md5(string_agg(x::text, E'\\n' order by x::text)), '') from %s.%s x", r.Namespace, name)
		if err := owner.QueryRow(t.Context(), sql).Scan(&digest); err != nil {
			t.Fatal(err)
		}
		all[name] = digest
	}
	return all
}

func TestB56AndB78ReplayRepeatsNothingAndSaysTheSameEachTime(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	n := r.Node(t, NodeOptions{})
	sale, _ := soldOut(t, n, 600, 500)
	n.Stop()

	world := map[string]*counter{"gate": newCounter(t), "broker": newCounter(t), "payment": newCounter(t), "mail": newCounter(t)}
	env := append(r.Settings(t), "SECKILL_REDIS_URL=redis://"+world["gate"].addr+"/0", "SECKILL_CACHE_REDIS_URL=redis://"+world["gate"].addr+"/0",
		"SECKILL_KAFKA_BROKERS="+world["broker"].addr, "SECKILL_JWT_SECRET=", "SECKILL_JWKS_URL=http://"+world["payment"].addr, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+world["mail"].addr)
	before := tables(t, r)
	for name, args := range map[string][]string{
		"events as JSON": {"--json"}, "events as CSV": {"--csv"}, "events as text": {"--sale", sale}, "a part": {"--from", "400", "--to", "800", "--json"},
		"the state now": {"--as-of", "0s", "--json"}, "a past state": {"--as-of", "700", "--sale", sale, "--json"}, "a past sheet": {"--as-of", "700", "--csv"},
	} {
		t.Run(name, func(t *testing.T) {
			first := Run(t, append(slices.Clone(env), "TZ=UTC", "LANG=C"), append([]string{"replay"}, args...)...)
			again := Run(t, append(slices.Clone(env), "TZ=Asia/Shanghai", "LANG=zh_CN.UTF-8"), append([]string{"replay"}, args...)...)
			if first.Code != 0 || first.Stderr != "" || first.Stdout == "" {
				t.Errorf("got exit code %d, %d bytes, stderr %q", first.Code, len(first.Stdout), first.Stderr)
			}
			if first.Stdout != again.Stdout {
				t.Error("B78: two runs, in two time zones, printed different bytes")
			}
			if name == "events as JSON" && strings.Count(first.Stdout, "\n") < 1000 {
				t.Errorf("got %d events, want 1,000 and more", strings.Count(first.Stdout, "\n"))
			}
		})
	}
	for name, c := range world {
		if got := c.came.Load(); got != 0 {
			t.Errorf("B56: the %s was called %d times, want 0", name, got)
		}
	}
	after := tables(t, r)
	for name, digest := range before {
		if after[name] != digest {
			t.Errorf("B56: table %s changed: got %q, want %q", name, after[name], digest)
		}
	}
}

// past is the lines of --as-of --json by kind.
type past struct {
	head   struct{ Position, Events int64 }
	sales  []struct{ SaleID, State string }
	left   int64
	orders map[string]string // status by order
}

func readPast(t *testing.T, out string) past {
	t.Helper()
	p := past{orders: map[string]string{}}
	for line := range strings.Lines(out) {
		var any struct {
			Kind, State, Status string
			SaleID              string `json:"sale_id"`
			OrderID             string `json:"order_id"`
			Position, Events    int64
			Available           int64
		}
		if err := json.Unmarshal([]byte(line), &any); err != nil {
			t.Fatalf("a line is no JSON: %v in %q", err, line)
		}
		switch any.Kind {
		case "as_of":
			p.head.Position, p.head.Events = any.Position, any.Events
		case "sale":
			p.sales = append(p.sales, struct{ SaleID, State string }{any.SaleID, any.State})
		case "stock":
			p.left += any.Available
		case "order":
			p.orders[any.OrderID] = any.Status
		}
	}
	return p
}

func TestAnyPastMomentOfASaleIsAnsweredFromTheLog(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	n := r.Node(t, NodeOptions{})
	sale, accepted := soldOut(t, n, 50, 40)
	other := n.Schedule(t, Terms(7))
	if _, err := n.Operator.Pause(t.Context(), sale, domain.PausedByOperator, commands.Actor{By: "test", Note: "lunch"}); err != nil {
		t.Fatal(err)
	}
	env := r.Settings(t)
	var events []stored
	for line := range strings.Lines(Run(t, env, "replay", "--json").Stdout) {
		var e stored
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	for _, position := range []int{3, len(events) / 3, len(events) / 2, len(events)} {
		placed, reserved, released := 0, 0, 0
		for _, e := range events[:position] {
			if e.SaleID != sale {
				continue
			}
			switch e.Type {
			case "order.placed":
				placed++
			case "stock.reserved":
				reserved++
			case "stock.released":
				released = 50
			}
		}
		p := readPast(t, Run(t, env, "replay", "--json", "--sale", sale, "--as-of", strconv.Itoa(position)).Stdout)
		if p.head.Position != int64(position) || len(p.orders) != placed || p.left != int64(released-reserved) || len(p.sales) != 1 {
			t.Errorf("as of %d: got %d orders and %d left, want %d and %d", position, len(p.orders), p.left, placed, released-reserved)
		}
	}
	now := readPast(t, Run(t, env, "replay", "--json", "--as-of", "0s").Stdout)
	if len(now.sales) != 2 || now.sales[0].State != "paused" || now.left != 10+7 || len(now.orders) != len(accepted) {
		t.Errorf("now: got %+v, want both sales (%s paused, %s), 17 left", now, sale, other)
	}
	middle := events[len(events)/2]
	then := readPast(t, Run(t, env, "replay", "--json", "--as-of", middle.RecordedAt).Stdout)
	if then.head.Position < middle.Position || then.head.Position >= int64(len(events)) {
		t.Errorf("as of the time of position %d: got position %d", middle.Position, then.head.Position)
	}
	if since := Run(t, env, "replay", "--json", "--since", middle.RecordedAt); !strings.Contains(since.Stdout, fmt.Sprintf(`{"position":%d,`, middle.Position)) ||
		strings.Contains(since.Stdout, `{"position":1,`) {
		t.Errorf("since the time of position %d: got %q…", middle.Position, since.Stdout[:min(200, len(since.Stdout))])
	}
	for order := range accepted {
		one := readPast(t, Run(t, env, "replay", "--json", "--order", order, "--as-of", "0s").Stdout)
		if len(one.orders) != 1 || one.orders[order] != "placed" || len(one.sales) != 0 {
			t.Errorf("one order: got %+v", one)
		}
		break
	}
	StandingChecks(t, n, sale, accepted)
}

// stored is a line of replay --json.
type stored struct {
	Position   int64
	Type       string
	Stream     string
	SaleID     string `json:"sale_id"`
	RecordedAt string `json:"recorded_at"`
}

// B57
func TestAnEventOfANewerProgramIsPrintedAndNeverGuessedAt(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	n := r.Node(t, NodeOptions{APIOnly: true})
	_, err := n.Store.Submit(t.Context(), eventstore.Work{Decide: func(eventstore.Look) (*eventstore.Group, error) {
		return &eventstore.Group{Appends: []eventstore.Append{{Stream: "order-x", Expected: 0, Events: []eventstore.NewEvent{
			{ID: uuid.New(), Type: "order.teleported", Schema: 3, OrderID: "x", Payload: []byte(`{"to":"mars"}`), Metadata: []byte(`{}`)},
		}}}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	env := r.Settings(t)
	if done := Run(t, env, "replay", "--json"); done.Code != 0 || !strings.Contains(done.Stdout, `"type":"order.teleported"`) || !strings.Contains(done.Stdout, `{"to":"mars"}`) {
		t.Errorf("got %d %q, want the event as it is stored", done.Code, done.Stdout)
	}
	if done := Run(t, env, "replay", "--type", "order.teleported", "--json"); done.Code != 0 || !strings.Contains(done.Stdout, `"type":"order.teleported"`) {
		t.Errorf("by its type: got %d %q, want the event", done.Code, done.Stdout)
	}
	if done := Run(t, env, "replay", "--as-of", "1", "--json"); done.Code != 3 || !strings.Contains(done.Stderr, "position 1, order-x version 1") || strings.Contains(done.Stdout, "order-x") {
		t.Errorf("as of then: got %d %q %q, want the event named, and no order guessed", done.Code, done.Stdout, done.Stderr)
	}
	wantOneSentence(t, Run(t, env, "replay", "--as-of", "99"), 1, "no position 99")
	wantOneSentence(t, Run(t, env, "replay", "--as-of", "noon"), 2, "--as-of")
	wantOneSentence(t, Run(t, env, "replay", "--json", "--csv"), 2, "--csv")
	if done := Run(t, env, "replay", "--as-of", "2020-01-01T00:00:00Z"); done.Code != 0 || !strings.Contains(done.Stdout, "Nothing was recorded by then") {
		t.Errorf("before everything: got %d %q", done.Code, done.Stdout)
	}
}

func TestReplayFollowsUntilItIsStopped(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	n := r.Node(t, NodeOptions{})
	var out, errs syncBuffer
	follow := exec.Command(Binary(t), "replay", "--follow", "--json")
	follow.Env, follow.Stdout, follow.Stderr = cleanEnv(r.Settings(t)...), &out, &errs
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = follow.Process.Kill() }() // it may have ended
	sale := n.Schedule(t, Terms(5))
	late := n.buyers(t, sale, "late", 3)
	n.AwaitDecided(t, late)
	testenv.Eventually(t, 30*time.Second, func() error {
		if got := strings.Count(out.tail(1<<20), `"type":"order.placed"`); got != 3 {
			return fmt.Errorf("got %d orders, want the 3 that were placed since (%s)", got, errs.tail(500))
		}
		return nil
	})
	if err := errors.Join(follow.Process.Signal(syscall.SIGTERM), follow.Wait()); err != nil {
		t.Errorf("stopped by a signal it ended with %v, want 0", err)
	}
	StandingChecks(t, n, sale, late)
}
