package commands

import (
	"fmt"

	"seckill/eventstore"
)

func (k *Keeper) suspects(lane int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.suspect[lane]
}

// torn tells whether the journal lacks the newest entry that its lane has written,
// before the log has it: no recorder would ever read past that. An entry that is
// missing before others the recorder sees, for their numbers have no gap.
func torn(s LaneState, c eventstore.Cursor) bool {
	return s.Epoch == c.Epoch && s.N > c.N && (s.Last.Epoch != s.Epoch || s.Last.N != s.N)
}

// broken tells whether a lane's journal lost or changed an entry that the log does not
// have, and raises the alarm where nobody has yet.
func (k *Keeper) broken(s LaneState, c eventstore.Cursor) bool {
	if k.suspects(c.Lane) {
		return true // the recorder said so
	}
	if !torn(s, c) {
		return false
	}
	detail := fmt.Sprintf("lane %d has written entry %d-%d, and its journal ends with %s", c.Lane, s.Epoch, s.N, s.Last)
	k.env.Log.Error("an entry is gone that was not recorded", "alarm", AlarmJournal, "lane", c.Lane, "detail", detail)
	k.opts.Alarm(Alarm{Kind: AlarmJournal, Lane: c.Lane, Detail: detail, Logged: true})
	return true
}
