package lookout

import (
	"math"
	"runtime/metrics"
	"time"
)

// Process is how the Go runtime of this process stands.
type Process struct {
	Goroutines          int
	Heap, HeapGoal      uint64
	GCs                 uint64
	GCSeconds, CPUTotal float64 // of the processor, since the start
	pauses              *metrics.Float64Histogram
}

// Names of what the runtime tells.
const (
	metricGoroutines = "/sched/goroutines:goroutines"
	metricHeap       = "/memory/classes/heap/objects:bytes"
	metricGoal       = "/gc/heap/goal:bytes"
	metricCycles     = "/gc/cycles/total:gc-cycles"
	metricGCTime     = "/cpu/classes/gc/total:cpu-seconds"
	metricCPU        = "/cpu/classes/total:cpu-seconds"
	metricPauses     = "/sched/pauses/total/gc:seconds"
)

// LookAtProcess asks the runtime.
func LookAtProcess() Process {
	asked := []metrics.Sample{{Name: metricGoroutines}, {Name: metricHeap}, {Name: metricGoal}, {Name: metricCycles}, {Name: metricGCTime}, {Name: metricCPU}, {Name: metricPauses}}
	metrics.Read(asked)
	return Process{
		Goroutines: int(asked[0].Value.Uint64()), Heap: asked[1].Value.Uint64(), HeapGoal: asked[2].Value.Uint64(), GCs: asked[3].Value.Uint64(),
		GCSeconds: asked[4].Value.Float64(), CPUTotal: asked[5].Value.Float64(), pauses: asked[6].Value.Float64Histogram(),
	}
}

// GCPauses gives the longest of the pauses between two looks, and the bound that 99 in a
// hundred kept; 0 where there was none. Both are rounded up to the runtime's buckets.
func GCPauses(before, after Process) (p99, longest time.Duration) {
	if before.pauses == nil || after.pauses == nil || len(before.pauses.Counts) != len(after.pauses.Counts) {
		return 0, 0
	}
	total := uint64(0)
	for i, n := range after.pauses.Counts {
		total += n - before.pauses.Counts[i]
	}
	sum := uint64(0)
	for i, n := range after.pauses.Counts {
		n -= before.pauses.Counts[i]
		if n == 0 {
			continue
		}
		upper := bound(after.pauses.Buckets, i)
		if sum += n; p99 == 0 && sum*100 >= total*99 {
			p99 = upper
		}
		longest = upper
	}
	return p99, longest
}

// bound is the upper end of a bucket, the lower one of the last.
func bound(buckets []float64, i int) time.Duration {
	upper := buckets[i+1]
	if math.IsInf(upper, 1) {
		upper = buckets[i]
	}
	return time.Duration(upper * float64(time.Second))
}
