package gatetest

import (
	"context"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// Ports is everything a gate offers.
type Ports interface {
	commands.Shortages
	commands.GateTime
	commands.Gate
	commands.Journal
	commands.Applier
	commands.Lanes
	commands.Hashes
	commands.Preheater
	commands.Holder
	commands.Withdrawer
	commands.Mover
	commands.Levels
	commands.Scanner
	commands.Cleaner
	commands.TicketLook
	commands.Inspector
}

// Subject is a gate under test, empty and used by nobody else.
type Subject struct {
	Ports
	// Failover, if set, lets another process answer from the same data.
	Failover func(testing.TB)
	// Copy, if set, copies all data; the answer puts the copy back.
	Copy func(testing.TB) func(testing.TB)
	// Lose, if set, forgets a stock hash, or a sale's record where sku is "".
	Lose func(tb testing.TB, place domain.Place, sku string)
}

// Maker makes an empty gate that ends with the test.
type Maker func(testing.TB) Subject

// Run checks the contract of a gate.
func Run(t *testing.T, maker Maker) {
	parts := []struct {
		name string
		test func(*testing.T, Maker)
	}{
		{"Reserve", testReserve},
		{"Races", testRaces},
		{"Journal", testJournal},
		{"Orders", testOrders},
		{"Apply", testApply},
		{"Lanes", testLanes},
		{"Preheat", testPreheat},
		{"Confirm", testConfirm},
		{"Scan", testScan},
		{"Shortages", testShortages},
		{"Clean", testClean},
		{"Tickets", testTickets},
		{"Withdraw", testWithdraw},
		{"Move", testMove},
	}
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) { p.test(t, maker) })
	}
}

// soon is a context that ends a test that hangs.
func soon(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	tb.Cleanup(cancel)
	return ctx
}
