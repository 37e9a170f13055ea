package browser

import (
	"fmt"
	"testing"
	"time"

	"seckill/infra/cli/e2e"
	"seckill/infra/testenv"
)

// TestTheConsoleWhileRedisStandsStill: what only Redis knows is not known, units left are
// told by the log and say so, and nothing that was seen before looks as if it were of now.
func TestTheConsoleWhileRedisStandsStill(t *testing.T) {
	var redis *testenv.RedisServer
	s := newShopOn(t, func(t testing.TB) *e2e.Rig {
		rig := e2e.NewRig(t)
		redis = testenv.PrivateRedis(t, testenv.RedisOptions{})
		rig.Redis = redis
		return rig
	})
	const sales = 12
	for i := range sales {
		s.sale(t, time.Now().Add(ago), map[string]any{"title": fmt.Sprintf("Frozen %d", i)}, item("a", 5))
	}
	w := s.console(t, "boss", tabOptions{})
	all := func(what, is string) string {
		return `String([...document.querySelectorAll('#sale-list article ` + what + `')].filter((n) => n.textContent === '` + is + `').length)`
	}
	left, badge := `tbody td[data-cell="available"]`, `.badge`
	w.await(all(left, "5"), fmt.Sprint(sales))
	redis.Freeze()
	w.await(all(left, "5 (by the log)"), fmt.Sprint(sales))
	w.await(all(badge, "Paused"), fmt.Sprint(sales))
	w.await(`document.querySelector('#node-rows tr[data-key="gate"]').dataset.ready`, "no")
	w.await(`String(/No answer for \d+ s/.test(document.body.innerText))`, "true")
	redis.Thaw()
	w.await(all(left, "5"), fmt.Sprint(sales))
	w.await(all(badge, "Open"), fmt.Sprint(sales))
}
