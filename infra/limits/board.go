package limits

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/infra/redisconn"
)

// Bounds of what nodes tell each other of their marks: the most refused buyers of a
// process, and the processes that told something last. A look reads 4 MB at most.
const (
	boardMarks     = 200
	boardProcesses = 64
	boardPatience  = 250 * time.Millisecond
)

// NodeMark is a mark and the node that made it.
type NodeMark struct {
	Node string `json:"node"`
	Mark
}

// Board is where nodes tell each other whom they refused, in the Redis of limits and
// caches, so that operators see it at any of them. It blocks nobody: while it is
// away each node shows its own marks. It is safe for concurrent use; Close ends it.
type Board struct {
	client  redis.UniversalClient
	index   string // of processes, by when their marks are over
	own     string // the key of this process
	node    string
	marks   *Marks
	every   time.Duration
	told    int64 // changes of the marks that were told
	reached atomic.Bool
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// OpenBoard tells the marks of a node every so often to the Redis at url, which need
// not answer. Two processes of one node name are told apart.
func OpenBoard(ctx context.Context, url, namespace, node string, marks *Marks, every time.Duration) (*Board, error) {
	address, err := redisconn.Parse(url)
	if err != nil {
		return nil, fmt.Errorf("the Redis URL of limits and caches %w", err)
	}
	client := address.Open(redisconn.Tuning{Dial: boardPatience, Read: boardPatience, Write: boardPatience, Pool: boardPatience, Conns: 2})
	index := namespace + ":{marks}"
	b := &Board{client: client, index: index, own: index + ":" + node + ":" + strings.ToLower(rand.Text()[:10]),
		node: node, marks: marks, every: every}
	ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	b.running.Go(func() { b.run(ctx) })
	return b, nil
}

// Close ends telling. What was told stays until the marks are over.
func (b *Board) Close() error {
	b.cancel()
	b.running.Wait()
	return b.client.Close()
}

// run tells the marks whenever they have changed.
func (b *Board) run(ctx context.Context) {
	tick := time.NewTicker(b.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			b.tell(ctx)
		}
	}
}

func (b *Board) tell(ctx context.Context) {
	changes := b.marks.changed()
	if changes == b.told {
		return
	}
	marks, _ := b.marks.List()
	text, err := json.Marshal(b.named(marks[:min(len(marks), boardMarks)]))
	if err != nil {
		return // it holds texts, numbers and times
	}
	ctx, cancel := context.WithTimeout(ctx, boardPatience)
	defer cancel()
	now := b.marks.now()
	_, err = b.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, b.own, text, markFor)
		p.ZAdd(ctx, b.index, redis.Z{Score: float64(now.Add(markFor).UnixMilli()), Member: b.own})
		p.ZRemRangeByScore(ctx, b.index, "-inf", strconv.FormatInt(now.UnixMilli(), 10))
		p.ZRemRangeByRank(ctx, b.index, 0, -boardProcesses-1)
		p.PExpire(ctx, b.index, markFor)
		return nil
	})
	if b.reached.Store(err == nil); err == nil {
		b.told = changes
	}
}

func (b *Board) named(marks []Mark) []NodeMark {
	all := make([]NodeMark, len(marks))
	for i, m := range marks {
		all[i] = NodeMark{Node: b.node, Mark: m}
	}
	return all
}

// All gives the marks of all nodes, most refused first: this node's as they are now,
// those of others as they told them within the last moment. The error says that
// others could not be asked; the marks of this node are there.
func (b *Board) All(ctx context.Context) (marks []NodeMark, err error) {
	own, _ := b.marks.List()
	all, err := b.others(ctx)
	all = append(all, b.named(own)...)
	slices.SortFunc(all, func(x, y NodeMark) int {
		return cmp.Or(cmp.Compare(y.Refused, x.Refused), strings.Compare(x.Buyer, y.Buyer), strings.Compare(x.Endpoint, y.Endpoint), strings.Compare(x.Node, y.Node))
	})
	return all, err
}

func (b *Board) others(ctx context.Context) ([]NodeMark, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*boardPatience)
	defer cancel()
	now := b.marks.now()
	keys, err := b.client.ZRangeArgs(ctx, redis.ZRangeArgs{Key: b.index, Start: "+inf", Stop: strconv.FormatInt(now.UnixMilli(), 10), ByScore: true, Rev: true, Count: boardProcesses}).Result()
	if err != nil {
		return nil, fmt.Errorf("ask which nodes have marks: %w", err)
	}
	keys = slices.DeleteFunc(keys, func(key string) bool { return key == b.own })
	if len(keys) == 0 {
		return nil, nil
	}
	texts, err := b.client.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, fmt.Errorf("read the marks of other nodes: %w", err)
	}
	var all []NodeMark
	for _, text := range texts {
		var told []NodeMark
		if s, ok := text.(string); !ok || json.Unmarshal([]byte(s), &told) != nil {
			continue // over, or of another version of the program
		}
		for _, m := range told[:min(len(told), boardMarks)] {
			if m.Until.After(now) {
				all = append(all, m)
			}
		}
	}
	return all, nil
}
