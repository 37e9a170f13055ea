package redisgate

import (
	"context"
	"time"

	"seckill/commands"
)

// ActAsVersion72 makes a gate believe that its server knows WAITAOF.
func ActAsVersion72(g *Gate) { g.waitAOF.Store(true) }

// NamespaceOf gives the first part of a gate's keys.
func NamespaceOf(g *Gate) string { return g.opt.Namespace }

// MaxBatch is the most purchases that a call can have.
const MaxBatch = maxBatch

// Told is a purchase and what it was told.
type Told struct {
	commands.Reservation
	commands.Verdict
	Err error
}

// ReserveTogether makes one call of purchases of a lane, and gives them in its order.
func ReserveTogether(ctx context.Context, g *Gate, all []commands.Reservation) []Told {
	c := newReserveCall().(*reserveCall)
	for _, r := range all {
		a := newAsk().(*ask)
		a.fill(r)
		c.batch = append(c.batch, a)
	}
	g.send(ctx, all[0].Place.Lane(), c)
	told := make([]Told, len(c.batch))
	for i, a := range c.batch {
		<-a.done
		told[i] = Told{a.r, a.verdict, a.err}
	}
	return told
}

// MakeLean makes calls of a lane lean until one of them would have to take.
func MakeLean(g *Gate, lane int) { g.lanes[lane].lean.barren.Store(leanAfter) }

// IsLean tells whether calls of a lane are lean.
func IsLean(g *Gate, lane int) bool { return g.lanes[lane].lean.on() }

// What makes calls of a lane lean.
const (
	LeanAfter = leanAfter
	LeanFrom  = leanFrom
)

// LookCrowd is how many looks are a crowd.
const LookCrowd = lookCrowd

// LookRest gives how long a worker sleeps after each of its calls, of n looks that took so
// long, where its sleeps take longer than they should.
func LookRest() func(n int, took, longer time.Duration) time.Duration {
	var debt lookDebt
	return func(n int, took, longer time.Duration) time.Duration {
		rest := debt.after(n, took)
		if rest == 0 {
			return 0
		}
		debt.slept(n, rest+longer)
		return rest + longer
	}
}
