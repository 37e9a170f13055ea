package cli

import (
	"testing"
	"time"

	"seckill/eventstore"
)

func TestTheLagOfAReplicaIsTheAgeOfTheOldestThingItLacks(t *testing.T) {
	r := &replica{}
	began := time.Now()
	for i, step := range []struct{ there, here, at, want int }{
		{0, 0, 0, 0}, // an empty log
		{5, 5, 1, 0}, // in step
		{5, 6, 2, 0}, // seen for the first time
		{5, 6, 4, 2},
		{5, 9, 7, 5}, // 6 is the oldest
		{6, 9, 8, 1}, // 9 was first seen at 7
		{9, 9, 99, 0},
		{9, 9, 999, 0}, // an idle log is not behind
		{9, 10, 1000, 0},
		{11, 10, 1001, 0}, // the replica was asked later
	} {
		got := r.lag(eventstore.Mark{Number: int64(step.there)}, eventstore.Mark{Number: int64(step.here)}, began.Add(time.Duration(step.at)*time.Second))
		if got != time.Duration(step.want)*time.Second {
			t.Errorf("step %d: got %s, want %d s", i, got, step.want)
		}
	}
}
