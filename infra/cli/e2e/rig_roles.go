package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/commands"
	"seckill/infra/bus"
	"seckill/projections"
)

// Role is what a node does beside buying and finding.
type Role string

// Roles of a node. Relay carries what the log has to the projector of the same node,
// over a bus within it; without it the projector reads the log by itself.
const (
	Recorder  Role = "recorder"
	Keeper    Role = "keeper"
	Projector Role = "projector"
	Relay     Role = "relay"
)

func (o NodeOptions) does(r Role) bool {
	if o.Roles == nil {
		return !o.APIOnly && r != Relay
	}
	return slices.Contains(o.Roles, r)
}

// roles gives what the node runs for its roles.
func (n *Node) roles(t testing.TB, pool *pgxpool.Pool, opts NodeOptions) []func(context.Context) error {
	var parts []func(context.Context) error
	if opts.does(Recorder) {
		var journal commands.Journal = n.Gate
		if opts.Journal != nil {
			journal = opts.Journal(journal)
		}
		recorder := commands.NewRecorder(n.Env, journal, n.Store, n.Follower,
			commands.RecorderOptions{Alarm: n.Alarms.Raise, Suspect: n.Keeper.Suspect, Idle: 100 * time.Millisecond})
		parts = append(parts, recorder.Run)
	}
	if opts.does(Keeper) {
		parts = append(parts, n.Keeper.Run)
	}
	if opts.does(Projector) {
		parts = append(parts, n.Projector.Run)
	}
	if opts.does(Relay) {
		parts = append(parts, n.carried(t, pool, opts)...)
	}
	return parts
}

// carried is a relay, and consumers that hand to the projector what it relays.
func (n *Node) carried(t testing.TB, pool *pgxpool.Pool, opts NodeOptions) []func(context.Context) error {
	local := bus.NewLocal(n.Env.Log)
	var receivers []bus.Receiver
	for _, r := range n.Projector.Runners() {
		receivers = append(receivers, r)
	}
	consumers, err := bus.NewConsumers(func(string) (message.Subscriber, error) { return local, nil }, receivers, bus.ConsumerOptions{Log: n.Env.Log})
	if err != nil {
		t.Fatalf("make consumers: %v", err)
	}
	store := int16(n.Env.Store)
	relay, err := bus.NewRelay(bus.Source{Store: store, Log: n.Store, Place: projections.RelayPlace(pool, store)}, local, bus.RelayOptions{Log: n.Env.Log, Step: opts.Step})
	if err != nil {
		t.Fatalf("make a relay: %v", err)
	}
	return []func(context.Context) error{consumers.Run, relay.Run}
}
