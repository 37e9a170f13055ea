package redisgate_test

import (
	"testing"
	"time"

	"seckill/infra/redisgate"
)

// TestLooksRestAsLongAsTheyTake: whatever the calls of a crowd take, and however much
// longer a sleep is than it should be, Redis has at least as much time for others.
func TestLooksRestAsLongAsTheyTake(t *testing.T) {
	for _, longer := range []time.Duration{0, 300 * time.Microsecond, 5 * time.Millisecond} {
		var took, slept time.Duration
		rest := redisgate.LookRest()
		for range 100 {
			took += 200 * time.Microsecond
			slept += rest(redisgate.LookCrowd, 200*time.Microsecond, longer)
		}
		if slept < took-time.Millisecond {
			t.Errorf("sleeps that take %s longer: %s of calls, %s of sleep, want as much but for a millisecond", longer, took, slept)
		}
	}
	rest := redisgate.LookRest()
	if alone := rest(1, time.Millisecond, 0); alone != 0 {
		t.Errorf("a look that came alone: sleep %s, want none", alone)
	}
	if few := rest(2, 50*time.Microsecond, 0); few != 200*time.Microsecond {
		t.Errorf("few looks: sleep %s, want what is left of the pace", few)
	}
	if busy := rest(2, 4*time.Millisecond, 0); busy != 4*time.Millisecond {
		t.Errorf("few looks of a busy Redis: sleep %s, want as long as the call", busy)
	}
}
