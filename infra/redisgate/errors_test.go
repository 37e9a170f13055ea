package redisgate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

// reply is an error that a server answered with.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestFaultsAreSortedIntoNothingAndUnknown(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	late := &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
	cases := []struct {
		name string
		err  error
		want fault
	}{
		{"a script that is not loaded", reply("NOSCRIPT No matching script. Please use EVAL."), fault{again: true, reload: true}},
		{"no memory", reply("OOM command not allowed when used memory > 'maxmemory'. script: abc, on @user_script:3."), fault{}},
		{"no memory, as version 6 says it", reply("ERR Error running script (call to f_abc): @user_script:3: @user_script: 3: -OOM command not allowed when used memory > 'maxmemory'."), fault{}},
		{"a replica", reply("READONLY You can't write against a read only replica."), fault{again: true}},
		{"a server that starts", reply("LOADING Redis is loading the dataset in memory"), fault{}},
		{"a replica without its master", reply("MASTERDOWN Link with MASTER is down"), fault{}},
		{"a cluster that is down", reply("CLUSTERDOWN The cluster is down"), fault{}},
		{"a slot that moved", reply("MOVED 3999 127.0.0.1:6381"), fault{again: true}},
		{"a slot whose key has moved", reply("ASK 3999 127.0.0.1:6381"), fault{again: true}},
		{"too few replicas", reply("NOREPLICAS Not enough good replicas to write."), fault{}},
		{"a slot that is moving", reply("TRYAGAIN Multiple keys request during rehashing of slot"), fault{again: true}},
		{"a script that hangs", reply("BUSY Redis is busy running a script."), fault{}},
		{"a script that broke on the way", reply("ERR user_script:12: attempt to index nil"), fault{unknown: true}},
		{"no connection", fmt.Errorf("call: %w", refused), fault{again: true}},
		{"no free connection", redis.ErrPoolTimeout, fault{again: true}},
		{"a closed client", redis.ErrClosed, fault{again: true}},
		{"no answer in time", late, fault{unknown: true, again: true}},
		{"a connection that was reset", reset, fault{unknown: true, again: true}},
		{"a connection that ended", io.EOF, fault{unknown: true, again: true}},
		{"a call that was given up", context.Canceled, fault{unknown: true}},
		{"anything else", errors.New("strange"), fault{unknown: true}},
	}
	for _, c := range cases {
		if got := sortFault(c.err); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestOptionsReportEverythingThatIsWrong(t *testing.T) {
	err := Options{Namespace: "a{b}", MaxBatch: 1000, InFlight: -1, ReadTimeout: -1}.Validate()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 4 {
		t.Fatalf("validate: got %v, want four problems", err)
	}
	if err := (Options{Namespace: "seckill"}).Validate(); err != nil {
		t.Fatalf("validate good options: %v", err)
	}
}
