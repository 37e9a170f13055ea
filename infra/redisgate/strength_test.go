package redisgate_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"seckill/commands"
	"seckill/commands/gatetest"
	"seckill/domain"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

// replicaOf starts a replica of a Redis and waits until it follows.
func replicaOf(t testing.TB, master *testenv.RedisServer) *testenv.RedisServer {
	t.Helper()
	host, port, err := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(master.URL, "redis://"), "/0"))
	if err != nil {
		t.Fatal(err)
	}
	r := testenv.PrivateRedis(t, testenv.RedisOptions{Config: []string{"replicaof " + host + " " + port}})
	c := client(t, master.URL)
	testenv.Eventually(t, 30*time.Second, func() error {
		info, err := c.Info(context.Background(), "replication").Result()
		if err == nil && !strings.Contains(info, "state=online") {
			err = fmt.Errorf("no replica follows: %s", info)
		}
		return err
	})
	return r
}

// strength asks for the strength of any place.
func strength(t *testing.T, g *redisgate.Gate) commands.Strength {
	t.Helper()
	s, err := g.Strength(context.Background(), domain.Place{Store: 1, Sale: "28t5cy4t"})
	if err != nil {
		t.Fatalf("ask for the strength: %v", err)
	}
	return s
}

func TestTheStrengthOfAServerIsReadFromItsSettings(t *testing.T) {
	t.Parallel()
	const aof, fsync, replicated = domain.AcknowledgeAOF, domain.AcknowledgeFsync, domain.AcknowledgeReplicated
	for name, c := range map[string]struct {
		config []string
		want   map[domain.Acknowledgement]string // a part of the sentence
	}{
		"nothing on disk":    {[]string{"appendonly no"}, map[domain.Acknowledgement]string{aof: "appendonly yes", fsync: "appendonly yes", replicated: "replicaof"}},
		"once a second":      {[]string{"appendfsync everysec"}, map[domain.Acknowledgement]string{fsync: "appendfsync everysec", replicated: "replicaof"}},
		"always":             {[]string{"appendfsync always"}, map[domain.Acknowledgement]string{replicated: "replicaof"}},
		"not while it moves": {[]string{"appendfsync always", "no-appendfsync-on-rewrite yes"}, map[domain.Acknowledgement]string{fsync: "no-appendfsync-on-rewrite no", replicated: "replicaof"}},
		"CONFIG taken away":  {[]string{"appendfsync always", `rename-command CONFIG ""`}, map[domain.Acknowledgement]string{fsync: "CONFIG GET", replicated: "replicaof"}},
		"CONFIG forbidden":   {[]string{"appendfsync always", "user default on nopass ~* &* +@all -config"}, map[domain.Acknowledgement]string{fsync: "CONFIG GET", replicated: "replicaof"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testenv.PrivateRedis(t, testenv.RedisOptions{Config: c.config})
			got := strength(t, openGate(t, s.URL, redisgate.Options{}))
			for _, a := range domain.Acknowledgements() {
				if part := c.want[a]; (part == "") != (got[a] == "") || !strings.Contains(got[a], part) {
					t.Errorf("%s: got %q, want a sentence with %q", a, got[a], part)
				}
			}
		})
	}
	t.Run("an imitation keeps everything in memory", func(t *testing.T) {
		m := miniredis.RunT(t)
		if got := strength(t, openGate(t, "redis://"+m.Addr(), redisgate.Options{ProcessToken: "this process"})); len(got) != 3 {
			t.Errorf("got %v, want that it gives nothing but memory", got)
		}
	})
}

func TestAReplicatedAcceptanceIsWeakWhileNoReplicaFollows(t *testing.T) {
	t.Parallel()
	master := testenv.PrivateRedis(t, testenv.RedisOptions{})
	gate := openGate(t, master.URL, redisgate.Options{SaleTimeout: 10 * time.Second, CallTimeout: 30 * time.Second})
	replica := replicaOf(t, master) // the first one changes the name of the server, so that open lanes would close
	stage := gatetest.NewStage(t, gatetest.Subject{Ports: gate})
	show := stage.Open(nil, 100)
	buy := func(buyer string, asked domain.Acknowledgement) commands.Verdict {
		t.Helper()
		r := stage.Ask(show, buyer, 1)
		r.Strength = asked
		v, err := gate.Reserve(context.Background(), r)
		if err != nil || v.Outcome != domain.Reserved {
			t.Fatalf("%s buys: %v, %v; want the unit", buyer, v.Outcome, err)
		}
		return v
	}
	if lack := strength(t, gate)[domain.AcknowledgeReplicated]; lack != "" {
		t.Errorf("a server with a replica: %s", lack)
	}
	if buy("followed", domain.AcknowledgeReplicated).Weak {
		t.Error("a replica that follows did not make the acceptance strong")
	}
	replica.Freeze()
	short := openGate(t, master.URL, redisgate.Options{Namespace: redisgate.NamespaceOf(gate), SaleTimeout: 300 * time.Millisecond})
	r := stage.Ask(show, "frozen", 1)
	r.Strength = domain.AcknowledgeReplicated
	v, err := short.Reserve(context.Background(), r)
	if err != nil || v.Outcome != domain.Reserved || !v.Weak {
		t.Errorf("while the replica hangs: %v, weak %t, %v; want it accepted and weak", v.Outcome, v.Weak, err)
	}
	if again, err := short.Reserve(context.Background(), r); err != nil || again.Outcome != domain.SameOrder || !again.Weak {
		t.Errorf("asked again: %v, weak %t, %v; want the same order, weak still", again.Outcome, again.Weak, err)
	}
	if buy("in-memory", "").Weak {
		t.Error("what asks for nothing is weak")
	}
	replica.Thaw()
	if buy("thawed", domain.AcknowledgeReplicated).Weak {
		t.Error("the replica goes on, and an acceptance is weak still")
	}
	if again, err := gate.Reserve(context.Background(), r); err != nil || again.Outcome != domain.SameOrder || !again.Weak {
		t.Errorf("asked once more: %v, weak %t, %v; want it weak: this call wrote nothing, so the server proves nothing of it", again.Outcome, again.Weak, err)
	}
}

// TestAcknowledgedPurchasesOutliveTheirMaster: a crowd buys while the master is
// killed; every purchase that was acknowledged as replicated is in the journal of the
// replica that is promoted.
func TestAcknowledgedPurchasesOutliveTheirMaster(t *testing.T) {
	t.Parallel()
	master := testenv.PrivateRedis(t, testenv.RedisOptions{Config: []string{"appendonly no"}})
	gate := openGate(t, master.URL, redisgate.Options{})
	replica := replicaOf(t, master)
	stage := gatetest.NewStage(t, gatetest.Subject{Ports: gate})
	show := stage.Open(nil, 100_000)
	acknowledged := buyUntil(t, gate, stage, show, domain.AcknowledgeReplicated, master.Kill)
	if err := client(t, replica.URL).ReplicaOf(context.Background(), "NO", "ONE").Err(); err != nil {
		t.Fatalf("promote the replica: %v", err)
	}
	wantInJournal(t, openGate(t, replica.URL, redisgate.Options{Namespace: redisgate.NamespaceOf(gate)}), show, acknowledged)
}

// TestAcknowledgedPurchasesOutliveAKill: the append-only file has every purchase that
// was acknowledged when the server is killed, with fsync always as with everysec; a
// server without one has none.
func TestAcknowledgedPurchasesOutliveAKill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config []string
		asked  domain.Acknowledgement
		kept   bool
	}{
		"fsync":  {[]string{"appendfsync always"}, domain.AcknowledgeFsync, true},
		"aof":    {[]string{"appendfsync everysec"}, domain.AcknowledgeAOF, true},
		"memory": {[]string{"appendonly no"}, domain.AcknowledgeMemory, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testenv.PrivateRedis(t, testenv.RedisOptions{Config: c.config})
			gate := openGate(t, s.URL, redisgate.Options{})
			stage := gatetest.NewStage(t, gatetest.Subject{Ports: gate})
			show := stage.Open(nil, 100_000)
			if lack := strength(t, gate)[c.asked]; lack != "" {
				t.Fatalf("the server does not give %s: %s", c.asked, lack)
			}
			acknowledged := buyUntil(t, gate, stage, show, c.asked, s.Kill)
			s.Restart()
			if c.kept {
				wantInJournal(t, gate, show, acknowledged)
			} else if left := journalOf(t, gate, show); len(left) != 0 {
				t.Errorf("%d purchases in the journal of a server that keeps nothing on disk", len(left))
			}
		})
	}
}

// buyUntil lets a crowd buy, kills the server in the middle, and gives the orders that
// were acknowledged as strongly as was asked.
func buyUntil(t *testing.T, gate *redisgate.Gate, stage *gatetest.Stage, show *gatetest.Show, asked domain.Acknowledgement, kill func()) map[string]bool {
	t.Helper()
	const crowd, before = 32, 500
	var asks [crowd][]commands.Reservation
	for i := range asks {
		for j := range 2000 {
			r := stage.Ask(show, fmt.Sprintf("u-%d-%d", i, j), 1)
			r.Strength = asked
			asks[i] = append(asks[i], r)
		}
	}
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	var bought atomic.Int64
	var dead atomic.Bool
	var buying sync.WaitGroup
	for i := range asks {
		buying.Go(func() {
			for _, r := range asks[i] {
				v, err := gate.Reserve(context.Background(), r)
				if dead.Load() && err != nil {
					return
				}
				if err == nil && v.Outcome == domain.Reserved && !v.Weak {
					bought.Add(1)
					mu.Lock()
					acknowledged[r.Order] = true
					mu.Unlock()
				}
			}
		})
	}
	testenv.Eventually(t, 60*time.Second, func() error {
		if n := bought.Load(); n < before {
			return fmt.Errorf("%d bought", n)
		}
		return nil
	})
	dead.Store(true)
	kill()
	buying.Wait()
	return acknowledged
}

// journalOf gives the orders in the journal of a sale's lane.
func journalOf(t *testing.T, gate *redisgate.Gate, show *gatetest.Show) map[string]bool {
	t.Helper()
	orders := map[string]bool{}
	var after domain.EntryID
	for {
		var entries []commands.JournalEntry
		testenv.Eventually(t, 30*time.Second, func() (err error) {
			entries, err = gate.ReadLane(context.Background(), show.Place.Lane(), after, 100)
			return err
		})
		for _, e := range entries {
			body, err := commands.DecodeEntry(e.Body)
			if err != nil {
				t.Fatal(err)
			}
			for _, raw := range body.Purchases {
				for _, part := range strings.Split(string(raw), `"`) {
					orders[part] = true
				}
			}
			after = e.ID
		}
		if len(entries) < 100 {
			return orders
		}
	}
}

func wantInJournal(t *testing.T, gate *redisgate.Gate, show *gatetest.Show, acknowledged map[string]bool) {
	t.Helper()
	left := journalOf(t, gate, show)
	lost := 0
	for order := range acknowledged {
		if !left[order] {
			lost++
		}
	}
	if lost != 0 || len(acknowledged) == 0 {
		t.Errorf("%d of %d acknowledged purchases are not in the journal", lost, len(acknowledged))
	}
}

// TestWhereTheServerKnowsWAITAOFItIsAsked: a server of version 7.2 says of each write
// whether it is on disk. One of that version is imitated; what ours runs is older.
func TestWhereTheServerKnowsWAITAOFItIsAsked(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	var onDisk, asked atomic.Int64
	err := m.Server().Register("WAITAOF", func(c *server.Peer, _ string, args []string) {
		asked.Add(1)
		if len(args) != 3 || args[0] != "1" || args[1] != "0" {
			c.WriteError(fmt.Sprintf("ERR arguments %v", args))
			return
		}
		c.WriteLen(2)
		c.WriteInt(int(onDisk.Load()))
		c.WriteInt(0)
	})
	if err != nil {
		t.Fatal(err)
	}
	gate := openGate(t, "redis://"+m.Addr(), redisgate.Options{ProcessToken: "this process"})
	redisgate.ActAsVersion72(gate)
	stage := gatetest.NewStage(t, gatetest.Subject{Ports: gate})
	show := stage.Open(nil, 10)
	buy := func(buyer string, strength domain.Acknowledgement, weak bool, asks int64) {
		t.Helper()
		r := stage.Ask(show, buyer, 1)
		r.Strength = strength
		v, err := gate.Reserve(context.Background(), r)
		if err != nil || v.Outcome != domain.Reserved || v.Weak != weak || asked.Load() != asks {
			t.Errorf("%s: %v, weak %t, %v, %d questions; want it accepted, weak %t, %d questions", buyer, v.Outcome, v.Weak, err, asked.Load(), weak, asks)
		}
	}
	buy("first", "", false, 0) // the server knows the script now
	buy("not-on-disk", domain.AcknowledgeFsync, true, 1)
	onDisk.Store(1)
	buy("on-disk", domain.AcknowledgeFsync, false, 2)
	buy("not-asked", domain.AcknowledgeAOF, false, 2)
	buy("no-replica", domain.AcknowledgeReplicated, true, 2)
}

// TestOnAClusterTheServerOfTheLaneIsAsked: its replica's word is what counts, and what
// was acknowledged with it is there when the replica takes over.
func TestOnAClusterTheServerOfTheLaneIsAsked(t *testing.T) {
	t.Parallel()
	c := newClustered(t, 1)
	show := c.Open(nil, 1000)
	given, err := c.gate.Strength(context.Background(), show.Place)
	if err != nil || given[domain.AcknowledgeReplicated] != "" {
		t.Fatalf("a cluster with replicas: lacks %q, %v", given[domain.AcknowledgeReplicated], err)
	}
	acknowledged := map[string]bool{}
	for i := range 50 {
		r := c.Ask(show, fmt.Sprintf("u-%d", i), 1)
		r.Strength = domain.AcknowledgeReplicated
		v, err := c.gate.Reserve(context.Background(), r)
		if err != nil || v.Outcome != domain.Reserved {
			t.Fatalf("buy: %v, %v", v.Outcome, err)
		}
		if !v.Weak {
			acknowledged[r.Order] = true
		}
	}
	if len(acknowledged) == 0 {
		t.Fatal("no acceptance was strong")
	}
	c.Fail(c.key(show))
	wantInJournal(t, c.gate, show, acknowledged)
}

func TestAClusterWithoutReplicasGivesNone(t *testing.T) {
	t.Parallel()
	c := newClustered(t, 0)
	show := c.Open(nil, 10)
	given, err := c.gate.Strength(context.Background(), show.Place)
	if err != nil || !strings.Contains(given[domain.AcknowledgeReplicated], "replicaof") {
		t.Errorf("lacks %q, %v; want a sentence about the replica", given[domain.AcknowledgeReplicated], err)
	}
	r := c.Ask(show, "u", 1)
	r.Strength = domain.AcknowledgeReplicated
	if v, err := c.gate.Reserve(context.Background(), r); err != nil || v.Outcome != domain.Reserved || !v.Weak {
		t.Errorf("bought all the same: %v, weak %t, %v; want it accepted and weak", v.Outcome, v.Weak, err)
	}
}
