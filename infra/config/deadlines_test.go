package config

import (
	"strings"
	"testing"
	"time"
)

func defaultDeadlines() Deadlines {
	const ms = time.Millisecond
	return Deadlines{Gateway: 1000 * ms, Handler: 800 * ms, Queue: 300 * ms, Gate: 250 * ms, Redis: 150 * ms,
		Statement: 500 * ms, Lock: 200 * ms, Recorder: 5000 * ms}
}

func defaultAdmission() Admission { return Admission{Floor: 128, Cap: 1024, Queue: 2000} }

func TestADeadlineThatIsNotShorterThanTheOneAroundItIsRefused(t *testing.T) {
	clean(t)
	for args, want := range map[string]string{
		"--handler-timeout=1s":                       "SECKILL_HANDLER_TIMEOUT must be a time of at least 1ms that is shorter than SECKILL_GATEWAY_TIMEOUT, which is 1s, but it is 1s.",
		"--gateway-timeout=500ms":                    "SECKILL_HANDLER_TIMEOUT must be",
		"--queue-timeout=900ms":                      "SECKILL_QUEUE_TIMEOUT must be",
		"--gate-timeout=300ms":                       "SECKILL_GATE_TIMEOUT must be",
		"--redis-timeout=1s":                         "SECKILL_REDIS_TIMEOUT must be",
		"--redis-timeout=0s":                         "SECKILL_REDIS_TIMEOUT must be a time of at least 1ms",
		"--statement-timeout=800ms":                  "SECKILL_STATEMENT_TIMEOUT must be",
		"--lock-timeout=500ms":                       "SECKILL_LOCK_TIMEOUT must be",
		"--recorder-timeout=400ms":                   "shorter than SECKILL_RECORDER_TIMEOUT, which is 400ms",
		"--recorder-timeout=6s":                      "SECKILL_RECORDER_TIMEOUT must be at most 5s",
		"--queue-timeout=600ms --gate-timeout=200ms": "must together be shorter than SECKILL_HANDLER_TIMEOUT, which is 800ms, but they are 800ms.",
		"--admission-floor=2000":                     "SECKILL_ADMISSION_FLOOR must be a number from 1 to SECKILL_ADMISSION_CAP, which is 1024, but it is 2000.",
		"--admission-cap=0":                          "SECKILL_ADMISSION_CAP must be a number from 1",
		"--admission-queue=-1":                       "SECKILL_ADMISSION_QUEUE must be a number from 0",
	} {
		_, err := Load(strings.Fields(args))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want that it says %q", args, err, want)
		}
	}
}

func TestAChainOfDeadlinesThatShrinksIsAccepted(t *testing.T) {
	clean(t)
	s := load(t, "--gateway-timeout=3s", "--handler-timeout=2s", "--statement-timeout=1s", "--gate-timeout=290ms", "--admission-queue=0")
	if s.Deadlines.Gateway != 3*time.Second || s.Deadlines.Spare() != 2*time.Second-590*time.Millisecond {
		t.Errorf("got %+v", s.Deadlines)
	}
}
