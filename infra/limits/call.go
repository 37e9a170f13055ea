package limits

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"sync"
	"time"
)

// tags is how many hash tags the buyers are spread over: the buyers of one tag are
// judged by one script call, on a cluster too.
const tags = 16

// tagOf gives the hash tag of what is limited.
func tagOf(key string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // never fails
	return int(h.Sum32() % tags)
}

func (s *Store) key(a *ask) string {
	return s.opt.Namespace + ":limit:{" + strconv.Itoa(tagOf(a.key)) + "}:" + a.key
}

// call judges a batch: in one script call, or on a cluster in one for each tag, side
// by side. It fails as a whole.
func (s *Store) call(batch []*ask) ([]int64, error) {
	ctx, cancel := context.WithTimeout(s.base, s.opt.Patience)
	defer cancel()
	if !s.spread {
		return s.judgeAll(ctx, batch)
	}
	var byTag [tags][]int // places in the batch
	for i, a := range batch {
		tag := tagOf(a.key)
		byTag[tag] = append(byTag[tag], i)
	}
	all := make([]int64, len(batch))
	var errs [tags]error
	var running sync.WaitGroup
	for tag, places := range byTag {
		if len(places) == 0 {
			continue
		}
		running.Go(func() {
			part := make([]*ask, len(places))
			for i, at := range places {
				part[i] = batch[at]
			}
			waits, err := s.judgeAll(ctx, part)
			errs[tag] = err
			for i, wait := range waits {
				all[places[i]] = wait
			}
		})
	}
	running.Wait()
	return all, errors.Join(errs[:]...)
}

// judgeAll judges attempts in one script call: one wait in µs each if there is no error.
func (s *Store) judgeAll(ctx context.Context, batch []*ask) ([]int64, error) {
	keys := make([]string, len(batch))
	args := make([]any, 0, 6*len(batch))
	for i, a := range batch {
		keys[i] = s.key(a)
		args = append(args, a.id, a.limit, a.window.Microseconds(), len(a.reports))
		for _, r := range a.reports {
			args = append(args, r.id, r.age)
		}
	}
	waits, err := s.script.Run(ctx, s.client, keys, args...).Int64Slice()
	if err == nil && len(waits) != len(batch) {
		return nil, fmt.Errorf("judge %d attempts: got %d answers", len(batch), len(waits))
	}
	if err != nil {
		return nil, err
	}
	s.opt.OnCall(len(batch))
	return waits, nil
}

// probe judges an attempt of nobody, on a cluster one for each tag: a server that
// answers but cannot write is away.
func (s *Store) probe() error {
	if !s.spread {
		_, err := s.call([]*ask{probing("probe")})
		return err
	}
	var found [tags]bool
	var batch []*ask
	for i := 0; len(batch) < tags; i++ {
		name := "probe" + strconv.Itoa(i)
		if tag := tagOf(name); !found[tag] {
			found[tag] = true
			batch = append(batch, probing(name))
		}
	}
	_, err := s.call(batch)
	return err
}

func probing(name string) *ask {
	return &ask{key: name, id: "probe", limit: 1, window: time.Millisecond}
}
