package limits

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/infra/testenv"
)

// boardOf opens the board of a node over its own marks.
func boardOf(t *testing.T, url, namespace, node string, now func() time.Time) (*Board, *Marks) {
	t.Helper()
	marks := NewMarks(now)
	b, err := OpenBoard(t.Context(), url, namespace, node, marks, 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() }) // closed twice where a test ends a node
	return b, marks
}

// awaitMark waits until a board shows a mark of a node.
func awaitMark(t *testing.T, b *Board, node, buyer string, refused int64) {
	t.Helper()
	testenv.Eventually(t, 20*time.Second, func() error {
		all, err := b.All(t.Context())
		for _, m := range all {
			if m.Node == node && m.Buyer == buyer && m.Refused == refused && m.Endpoint == "purchases" {
				return nil
			}
		}
		return errors.Join(fmt.Errorf("no mark of %s by %s in %+v", buyer, node, all), err)
	})
}

func TestEveryNodeShowsWhomAnyNodeRefused(t *testing.T) {
	t.Parallel()
	server := testenv.PrivateRedis(t, testenv.RedisOptions{})
	one, marksOfOne := boardOf(t, server.URL, "ns", "one", time.Now)
	two, marksOfTwo := boardOf(t, server.URL, "ns", "two", time.Now)
	other, _ := boardOf(t, server.URL, "elsewhere", "two", time.Now)
	marksOfOne.Add("purchases", "greedy")
	marksOfOne.Add("purchases", "greedy")
	marksOfTwo.Add("purchases", "greedy")
	awaitMark(t, two, "one", "greedy", 2)
	awaitMark(t, two, "two", "greedy", 1)
	awaitMark(t, one, "two", "greedy", 1)
	if all, err := two.All(t.Context()); err != nil || len(all) != 2 || all[0].Node != "one" {
		t.Errorf("got %+v, %v; want the two marks, most refused first", all, err)
	}
	if all, err := other.All(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("another installation sees %+v, %v", all, err)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	again, _ := boardOf(t, server.URL, "ns", "one", time.Now) // restarted
	awaitMark(t, again, "one", "greedy", 2)

	server.Stop()
	if all, err := two.All(t.Context()); err == nil || len(all) != 1 || all[0].Node != "two" {
		t.Errorf("while the store is away: got %+v, %v; want the own mark and an error", all, err)
	}
	server.Restart()
	marksOfTwo.Add("purchases", "greedy")
	awaitMark(t, again, "two", "greedy", 2)
}

func TestWhatNodesTellOfTheirMarksIsBoundedAndGoesAway(t *testing.T) {
	t.Parallel()
	server := testenv.PrivateRedis(t, testenv.RedisOptions{})
	now := time.Now
	marks := NewMarks(now)
	for i := range 2 * boardMarks {
		marks.Add("purchases", fmt.Sprintf("u%d", i))
	}
	marks.Add("purchases", "u7")
	for i := range boardProcesses + 5 {
		b, err := OpenBoard(t.Context(), server.URL, "ns", fmt.Sprintf("node-%d", i), marks, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		b.tell(t.Context())
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	reader, _ := boardOf(t, server.URL, "ns", "reader", now)
	all, err := reader.All(t.Context())
	if err != nil || len(all) != boardProcesses*boardMarks || all[0].Buyer != "u7" || all[0].Refused != 2 {
		t.Errorf("got %d marks, %v; want %d, the most refused first", len(all), err, boardProcesses*boardMarks)
	}
	late, _ := boardOf(t, server.URL, "ns", "late", func() time.Time { return time.Now().Add(markFor + time.Minute) })
	if all, err := late.All(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("eleven minutes later: got %d marks, %v; want none", len(all), err)
	}
	o, err := redis.ParseURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(o)
	defer client.Close()
	keys, err := client.Keys(t.Context(), "ns:*").Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("got keys %v, %v", keys, err)
	}
	for _, key := range keys {
		if ttl := client.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > markFor {
			t.Errorf("%s lives for %s, want at most %s", key, ttl, markFor)
		}
	}
}
