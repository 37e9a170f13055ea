package commands

import (
	"errors"
	"fmt"
	"time"
)

// recoverRest bounds the pause between recoveries of a lane that fail: each raises the
// lane's epoch, and the first one that works ends what buyers meet.
const recoverRest = 5 * time.Second

// failure is a lane whose last recovery failed: how long it rests, and until when.
type failure struct {
	rest  time.Duration
	until time.Time
}

// tried notes how a recovery of a lane ended, and tells whether the one before it had
// failed. One that failed makes the lane rest, twice as long each time; one that
// another recovery overtook does not.
func (k *Keeper) tried(lane int, err error) (again bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	was, again := k.failing[lane]
	switch {
	case err == nil:
		delete(k.failing, lane)
		delete(k.suspect, lane)
	case errors.Is(err, ErrOvertaken):
		k.failing[lane] = failure{rest: was.rest}
	default:
		rest := min(max(2*was.rest, k.opts.Look), recoverRest)
		k.failing[lane] = failure{rest: rest, until: k.env.Now().Add(rest)}
	}
	return again
}

// rests tells whether the keeper leaves a lane alone for now.
func (k *Keeper) rests(lane int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.env.Now().Before(k.failing[lane].until)
}

// errForeign says that a lane is another version's. Nothing of it is touched, and its
// epoch stays, so that the version that wrote it can go on with it.
func errForeign(layout string) error {
	return fmt.Errorf("the gate's record of it has layout %q, which this version of seckill does not know: run the version that wrote it", layout)
}
