package linearizability

import (
	"math/rand/v2"
	"time"
)

// fault is something that happens to an installation while a crowd is at it. When do
// returns everything works again, or comes to.
type fault struct {
	name string
	do   func(h *house, chance *rand.Rand)
}

// quiet is the fault that is none.
const quiet = "nothing"

// allFaults are played in turn.
func allFaults() []fault {
	return []fault{
		{quiet, func(*house, *rand.Rand) {}},
		{"API processes killed", killAPIs},
		{"Redis killed and started again", restartRedis},
		{"replies of the gate lost", loseGate},
		{"Redis stopped", func(h *house, chance *rand.Rand) {
			h.rig.Redis.Freeze()
			wait(chance, 800)
			h.rig.Redis.Thaw()
		}},
		{"replies to buyers lost", loseAnswers},
		{"PostgreSQL silent", func(h *house, chance *rand.Rand) {
			h.log.BlackHole()
			wait(chance, 800)
			h.log.Heal()
		}},
		{"recorders killed", killBacks},
		{"replies of commits lost", loseCommits},
		{"connections to both stores reset", resetStores},
	}
}

// wait keeps a fault up for a time, and up to as long again.
func wait(chance *rand.Rand, ms int) {
	time.Sleep(time.Duration(ms+chance.IntN(ms)) * time.Millisecond) // how long the fault lasts
}

func killAPIs(h *house, chance *rand.Rand) {
	first := chance.IntN(len(h.apis))
	for i := range h.apis {
		c := h.apis[(first+i)%len(h.apis)]
		c.Kill()
		wait(chance, 100)
		c.Start()
		h.keepUp(c)
	}
}

func killBacks(h *house, chance *rand.Rand) {
	for _, c := range h.backs {
		c.Kill()
	}
	wait(chance, 300)
	for _, c := range h.backs {
		c.Start()
	}
}

func restartRedis(h *house, chance *rand.Rand) {
	h.rig.Redis.Kill()
	wait(chance, 200)
	h.rig.Redis.Restart()
}

// loseGate loses answers of the gate's scripts, of whichever process asks next.
func loseGate(h *house, chance *rand.Rand) {
	for range 6 {
		h.redis.DropReplyTo("evalsha")
		wait(chance, 100)
	}
}

func loseCommits(h *house, chance *rand.Rand) {
	for range 4 {
		h.log.DropReplyTo("COMMIT")
		wait(chance, 150)
	}
}

// loseAnswers cuts buyers off from the nodes while their requests are worked on: some
// wait in vain, others see their connection end.
func loseAnswers(h *house, chance *rand.Rand) {
	for range 5 {
		way := h.ways[chance.IntN(len(h.ways))]
		way.DropReplies(2)
		wait(chance, 60)
		way.Reset()
		wait(chance, 60)
	}
	for _, way := range h.ways {
		way.Heal()
		way.Reset() // those that are mute
	}
}

func resetStores(h *house, chance *rand.Rand) {
	for range 5 {
		h.redis.Reset()
		wait(chance, 50)
		h.log.Reset()
		wait(chance, 50)
	}
}
