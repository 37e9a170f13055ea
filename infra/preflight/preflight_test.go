package preflight

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/bus"
	"seckill/infra/config"
	"seckill/infra/pg/pgtest"
	"seckill/infra/plan"
	"seckill/infra/testenv"
	"seckill/projections"
)

func testSite() *Site {
	now := time.Now()
	return &Site{Now: time.Now, Costs: plan.Measured(), SaleID: "0000000g", Sale: &domain.Sale{ID: "0000000g", Version: 1, Terms: domain.SaleTerms{
		OpensAt: now.Add(30 * time.Minute), ClosesAt: now.Add(time.Hour), AutoOpen: true, Items: []domain.ItemTerms{{SKU: "a", Stock: 1000}},
	}.WithDefaults()}}
}

// want checks the state of a row.
func want(t *testing.T, rows []Row, check string, state State) Row {
	t.Helper()
	for _, r := range rows {
		if r.Check == check {
			if r.State != state {
				t.Errorf("%s: got %s (%s), want %s", check, r.State, r.Seen, state)
			}
			if (r.State == NoGo || r.State == Warning) && r.Do == "" {
				t.Errorf("%s: got %+v, want a word about what to do", check, r)
			}
			return r
		}
	}
	t.Errorf("got %+v, want a row %s", rows, check)
	return Row{}
}

func redisOf(t *testing.T, config ...string) []RedisServer {
	t.Helper()
	server := testenv.PrivateRedis(t, testenv.RedisOptions{Config: config})
	o, err := redis.ParseURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
	return []RedisServer{{Name: server.URL, Client: client}}
}

func TestARedisIsJudgedByWhatItIsSetTo(t *testing.T) {
	s := testSite()
	s.Redis = redisOf(t)
	want(t, redisKeepsEverything(t.Context(), s), "redis.policy", OK)
	want(t, redisAcknowledges(t.Context(), s), "redis.aof", OK)
	want(t, redisHasRoom(t.Context(), s), "redis.memory", OK)
	want(t, clocksAgree(t.Context(), s), "clock.redis", OK)

	s.Redis = redisOf(t, "maxmemory-policy allkeys-lru", "maxmemory 64mb", "appendonly no")
	want(t, redisKeepsEverything(t.Context(), s), "redis.policy", NoGo)
	want(t, redisAcknowledges(t.Context(), s), "redis.aof", Warning)
	want(t, redisHasRoom(t.Context(), s), "redis.memory", OK)
	s.Sale.Terms.Items[0].Stock = 1_000_000 // 600 MB
	want(t, redisHasRoom(t.Context(), s), "redis.memory", NoGo)
	s.Buyers = 1000 // most units stay
	want(t, redisHasRoom(t.Context(), s), "redis.memory", OK)
}

func TestWhatASaleTellsItsBuyersIsHeldAgainstWhatTheServerGives(t *testing.T) {
	s := testSite()
	s.Strength = func(context.Context, domain.Sale) (string, error) { return "appendfsync is everysec", nil }
	want(t, redisAcknowledges(t.Context(), s), "redis.acknowledgement", OK)
	s.Sale.Terms.Acknowledgement = domain.AcknowledgeFsync
	want(t, redisAcknowledges(t.Context(), s), "redis.acknowledgement", NoGo)
	s.Strength = func(context.Context, domain.Sale) (string, error) { return "", errors.New("away") }
	want(t, redisAcknowledges(t.Context(), s), "redis.acknowledgement", NotKnown)
}

func TestAClockThatIsOffIsSeen(t *testing.T) {
	s := testSite()
	s.DB, _, _ = pgtest.New(t)
	s.Redis = redisOf(t)
	for off, state := range map[time.Duration]State{0: OK, 500 * time.Millisecond: Warning, -90 * time.Second: NoGo} {
		s.Now = func() time.Time { return time.Now().Add(off) }
		rows := clocksAgree(t.Context(), s)
		want(t, rows, "clock.redis", state)
		want(t, rows, "clock.postgres", state)
	}
}

func TestAPostgreSQLIsJudgedByWhatItIsSetTo(t *testing.T) {
	s := testSite()
	pool, _, namespace := pgtest.New(t)
	s.DB, s.Settings.Namespace = pool, namespace
	want(t, schemaFits(t.Context(), s), "postgres.schema", OK)
	s.Settings.Namespace = "nobody_made_this"
	want(t, schemaFits(t.Context(), s), "postgres.schema", NoGo)

	rows := postgresIsDurable(t.Context(), s) // the server of tests syncs nothing
	want(t, rows, "postgres.fsync", NoGo)

	s.Processes = 1
	want(t, postgresHasConnections(t.Context(), s), "postgres.connections", OK)
	s.Processes = 1000
	want(t, postgresHasConnections(t.Context(), s), "postgres.connections", NoGo)

	s.Settings.Deadlines.Recorder = 5 * time.Second
	want(t, postgresHeedsDeadlines(t.Context(), s), "postgres.deadlines", OK)
	s.Settings.Deadlines.Recorder = 4 * time.Second // as if something had dropped it
	want(t, postgresHeedsDeadlines(t.Context(), s), "postgres.deadlines", NoGo)

	want(t, postgresHasRoomForWAL(t.Context(), s), "postgres.wal", OK)
	s.Sale.Terms.Items[0].Stock = 100_000_000
	want(t, postgresHasRoomForWAL(t.Context(), s), "postgres.wal", Warning)
	want(t, postgresHasRoomForWAL(t.Context(), s), "postgres.disk", NotKnown) // the application's role does not see the folder
}

func TestASaleThatWouldNotOpenIsANoGo(t *testing.T) {
	s := testSite()
	want(t, saleIsReady(t.Context(), s), "sale.state", OK)
	want(t, saleIsReady(t.Context(), s), "sale.window", OK)
	s.Sale.Pauses = []domain.PauseReason{domain.PausedByOperator}
	want(t, saleIsReady(t.Context(), s), "sale.state", NoGo)
	s.Sale.Pauses, s.Sale.Terms.AutoOpen = nil, false
	want(t, saleIsReady(t.Context(), s), "sale.confirmation", NoGo)
	s.Sale.Confirmed = true
	want(t, saleIsReady(t.Context(), s), "sale.confirmation", OK)
	s.Now = func() time.Time { return s.Sale.Terms.OpensAt.Add(-time.Minute) }
	want(t, saleIsReady(t.Context(), s), "sale.window", Warning)
	s.Now = func() time.Time { return s.Sale.Terms.ClosesAt }
	want(t, saleIsReady(t.Context(), s), "sale.window", NoGo)

	want(t, switchesAreOff(t.Context(), s), "switches", NotKnown) // those of everywhere were not seen
	s.Switches = func() []commands.SwitchState { return nil }
	want(t, switchesAreOff(t.Context(), s), "switches", OK)
	s.Sale.Switches = []domain.SaleSwitch{{Name: domain.SkipPurchaseLimit}}
	want(t, switchesAreOff(t.Context(), s), "switches", Warning)
	s.Switches = func() []commands.SwitchState {
		return []commands.SwitchState{{Name: domain.PausePurchases, By: "boss"}}
	}
	if r := want(t, switchesAreOff(t.Context(), s), "switches", NoGo); !strings.Contains(r.Seen, "boss") {
		t.Errorf("got %+v, want who turned it", r)
	}
}

func TestNobodyWhoDoesTheWorkIsANoGo(t *testing.T) {
	s := testSite()
	held := 8
	s.Recorded = func(context.Context) (int, int, error) { return held, 8, nil }
	s.Leads, s.Lead = []string{"relay", "expiry"}, func(_ context.Context, task string) (bool, error) { return task == "relay" || held == 8, nil }
	waiting := time.Time{}
	s.Views = func(context.Context) (projections.Stats, error) { return projections.Stats{Waiting: waiting}, nil }
	for _, c := range []struct {
		held  int
		waits time.Duration
		role  State
		views State
	}{{8, 0, OK, OK}, {7, 3 * time.Second, NoGo, Warning}, {0, time.Minute, NoGo, NoGo}} {
		held = c.held
		if c.waits > 0 {
			waiting = time.Now().Add(-c.waits)
		}
		rows := append(rolesAreHeld(t.Context(), s), viewsAreFresh(t.Context(), s)...)
		want(t, rows, "role.recorder", c.role)
		want(t, rows, "role.leads", c.role)
		want(t, rows, "views.fresh", c.views)
	}
}

func TestWhatStandsOutsideIsAsked(t *testing.T) {
	s := testSite()
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, "version 3-abc")
	}))
	s.Page, s.PageURL, s.Nodes = "3-abc", server.URL, []string{server.URL}
	want(t, pageIsCurrent(t.Context(), s), "page.version", OK)
	want(t, nodesAreReady(t.Context(), s), "node.ready", OK)
	named := s.Nodes
	s.Nodes, s.Near = nil, server.URL
	want(t, nodesAreReady(t.Context(), s), "node.ready", OK)
	status = http.StatusNotFound // another program has that port
	want(t, nodesAreReady(t.Context(), s), "node.ready", NotKnown)
	status = http.StatusServiceUnavailable
	want(t, nodesAreReady(t.Context(), s), "node.ready", NoGo)
	s.Nodes = named
	s.Page, status = "4-abc", http.StatusServiceUnavailable
	want(t, pageIsCurrent(t.Context(), s), "page.version", Warning)
	want(t, nodesAreReady(t.Context(), s), "node.ready", NoGo)
	server.Close()
	want(t, pageIsCurrent(t.Context(), s), "page.version", NoGo)
	want(t, nodesAreReady(t.Context(), s), "node.ready", NoGo)
	s.Nodes = nil
	want(t, nodesAreReady(t.Context(), s), "node.ready", NotKnown)

	want(t, tokensCanBeVerified(t.Context(), s), "tokens.keys", Warning)
	s.Settings.JWTSecret = "a secret"
	want(t, tokensCanBeVerified(t.Context(), s), "tokens.keys", OK)
	s.Settings.JWKSURL, s.Keys = server.URL, func(context.Context) error { return errors.New("no key was read") }
	want(t, tokensCanBeVerified(t.Context(), s), "tokens.keys", NoGo)
}

func TestKafkaIsJudgedByItsTopic(t *testing.T) {
	s := testSite()
	want(t, kafkaCarries(t.Context(), s), "kafka.topic", OK)
	s.Settings.KafkaBrokers = []string{"b:9092"}
	state := bus.TopicState{}
	s.Kafka = func(context.Context) (bus.TopicState, error) { return state, nil }
	want(t, kafkaCarries(t.Context(), s), "kafka.topic", Warning)
	for _, c := range []struct {
		state       bus.TopicState
		topic, acks State
	}{
		{bus.TopicState{Partitions: eventstore.DefaultShards, Replicas: 3, InSync: 3, MinInSync: 2}, OK, OK},
		{bus.TopicState{Partitions: 1, Replicas: 1, InSync: 1, MinInSync: 1}, Warning, Warning},
		{bus.TopicState{Partitions: eventstore.DefaultShards, Replicas: 3, InSync: 1, MinInSync: 2}, OK, NoGo},
	} {
		state = c.state
		want(t, kafkaCarries(t.Context(), s), "kafka.topic", c.topic)
		want(t, kafkaCarries(t.Context(), s), "kafka.acks", c.acks)
	}
	s.Kafka = func(context.Context) (bus.TopicState, error) { return state, errors.New("away") }
	want(t, kafkaCarries(t.Context(), s), "kafka.topic", NoGo)
}

func TestATicketThatNobodyCanGetIsANoGo(t *testing.T) {
	s := testSite()
	want(t, ticketsCanBeHad(t.Context(), s), "tickets.book", OK)
	s.Sale.Terms.RequireTicket, s.Sale.Terms.Tokens = true, 1
	want(t, ticketsCanBeHad(t.Context(), s), "tickets.book", NotKnown)
	s.Tickets = func(context.Context) (commands.BookState, error) { return commands.BookState{}, errors.New("away") }
	rows := ticketsCanBeHad(t.Context(), s)
	want(t, rows, "tickets.book", NoGo)
	want(t, rows, "tickets.tokens", Warning)
}

func TestAGateThatDiffersIsANoGo(t *testing.T) {
	s := testSite()
	report := commands.PreheatReport{Keys: 4, Verified: true}
	s.Preheat = func(context.Context) (commands.PreheatReport, error) { return report, nil }
	want(t, gateHoldsTheSale(t.Context(), s), "gate.preheat", OK)
	report = commands.PreheatReport{Keys: 4, Differences: []commands.PreheatDifference{{Key: "stock", Want: "5", Got: "6"}}}
	if r := want(t, gateHoldsTheSale(t.Context(), s), "gate.preheat", NoGo); !strings.Contains(r.Seen, "stock: 6 in the place of 5") {
		t.Errorf("got %+v, want the difference", r)
	}
}

func TestWhatCannotBeSeenIsNotKnownAndNeverOK(t *testing.T) {
	for _, row := range Run(t.Context(), &Site{Now: time.Now, SaleID: "x", Costs: plan.Measured(), Settings: config.Settings{KafkaBrokers: []string{"b:1"}, JWKSURL: "http://x"}}).Rows {
		if row.State == OK || row.State == NoGo {
			if row.Check != "host.files" { // that is this process's own
				t.Errorf("got %+v, want nothing judged that was not seen", row)
			}
		}
	}
}

func TestOneNoGoIsANoGoWithItsReason(t *testing.T) {
	r := Report{Rows: []Row{{Check: "a", State: OK}, {Check: "b", State: Warning}, {Check: "c", State: NotKnown}}}
	r.judge()
	if !r.Go || len(r.Reasons) != 0 {
		t.Errorf("got %+v, want go", r)
	}
	r.Add(Row{Check: "stores.open", State: NoGo, Seen: "nobody answers"})
	if r.Go || len(r.Reasons) != 1 || r.Reasons[0] != "stores.open: nobody answers" {
		t.Errorf("got %+v, want no-go and why", r)
	}
}
