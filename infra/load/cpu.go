package load

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// CPU is how busy this process was, as a share of the cores it may use.
type CPU struct {
	Mean, Peak float64
	// Windows are the shares in consecutive seconds.
	Windows []float64
}

// cpuWindow is over how long the peak is taken.
const cpuWindow = time.Second

// WatchCPU watches this process until the function it gives is called, which gives
// what was seen; ctx ends it too.
func WatchCPU(ctx context.Context) (stop func() CPU, err error) {
	begun, err := processorTime()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var seen CPU
	var done sync.WaitGroup
	done.Go(func() { seen = watchCPU(ctx, begun) })
	return func() CPU {
		cancel()
		done.Wait()
		return seen
	}, nil
}

func watchCPU(ctx context.Context, begun time.Duration) CPU {
	var c CPU
	cores := float64(runtime.GOMAXPROCS(0))
	start, last, used := time.Now(), time.Now(), begun
	tick := time.NewTicker(cpuWindow)
	defer tick.Stop()
	look := func() {
		now, err := processorTime()
		if err != nil {
			return // it could be asked before; the next window is longer
		}
		if d := time.Since(last); d > cpuWindow/10 {
			share := (now - used).Seconds() / d.Seconds() / cores
			c.Windows, c.Peak = append(c.Windows, share), max(c.Peak, share)
			last, used = time.Now(), now
		}
		c.Mean = (now - begun).Seconds() / max(time.Since(start).Seconds(), 1e-9) / cores
	}
	for {
		select {
		case <-tick.C:
			look()
		case <-ctx.Done():
			look()
			return c
		}
	}
}

// processorTime is what this process has used so far, of all cores together.
func processorTime() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("ask for the processor time of this process: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
