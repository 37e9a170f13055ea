package testenv_test

import (
	"strconv"
	"testing"
	"time"

	"seckill/infra/testenv"
)

func TestAServersClockJumpsWhileItWorks(t *testing.T) {
	clock := testenv.NewServerClock(t)
	redis := testenv.PrivateRedis(t, testenv.RedisOptions{Env: clock.Env})
	postgres := testenv.PrivatePostgresWith(t, testenv.PostgresOptions{Env: clock.Env})
	c := client(t, redis.URL)
	for _, wrong := range []time.Duration{0, 90 * time.Second, -90 * time.Second, 0} {
		if err := clock.Set(wrong); err != nil {
			t.Fatal(err)
		}
		// Redis keeps a time for as long as it handles what is there at once.
		now, err := c.Time(t.Context()).Result()
		if got := time.Until(now) - wrong; err != nil || got.Abs() > 30*time.Second {
			t.Errorf("Redis, wrong by %s: tells %s (%v)", wrong, now, err)
		}
		seconds, err := strconv.ParseFloat(query(t, postgres.URL, "select extract(epoch from clock_timestamp())::text"), 64)
		if got := time.Until(time.UnixMilli(int64(seconds*1000))) - wrong; err != nil || got.Abs() > 30*time.Second {
			t.Errorf("PostgreSQL, wrong by %s: tells %f (%v)", wrong, seconds, err)
		}
	}
}
