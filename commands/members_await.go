package commands

import (
	"context"
	"time"

	"seckill/domain"
)

// maxAwaited bounds the buyers of a list that is waited for: reading a longer one
// takes longer than anybody should wait.
const maxAwaited = 50_000

// Await waits for a small list that is not in memory: see MemberJudge. Run reads it,
// once for all who wait. A list that could not be read a moment ago is not waited for.
func (k *KnownMembers) Await(ctx context.Context, list domain.MemberList) {
	if _, ok := (*k.sets.Load())[list.ID]; ok || list.Count > maxAwaited {
		return
	}
	var enough <-chan time.Time
	for {
		tried, faulty := k.trying(list.ID)
		if _, ok := (*k.sets.Load())[list.ID]; ok || faulty {
			return
		}
		if enough == nil {
			timer := time.NewTimer(k.opts.Await)
			defer timer.Stop()
			enough = timer.C
			k.want(list)
		}
		select {
		case <-tried:
		case <-enough:
			return
		case <-ctx.Done():
			return
		}
	}
}

// trying gives what is closed when the next list was tried to be read, and whether
// this one was, and could not.
func (k *KnownMembers) trying(list string) (<-chan struct{}, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, faulty := k.faults[list]
	return k.tried, faulty
}

// want asks Run to read a list.
func (k *KnownMembers) want(list domain.MemberList) {
	select {
	case k.wanted <- list:
	default:
	}
}
