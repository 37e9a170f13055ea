package redisgate

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"seckill/commands"
)

// fault is what an error of one attempt means.
type fault struct {
	// unknown: the script may have run.
	unknown bool
	// again: another attempt may fare better.
	again bool
	// reload: the server does not know the script.
	reload bool
}

// refusals are the first words of replies that say that a script did not run or
// was stopped at its first write, which is its first effect.
var refusals = map[string]fault{
	"NOSCRIPT":    {again: true, reload: true},
	"READONLY":    {again: true},
	"TRYAGAIN":    {again: true},
	"MOVED":       {again: true},
	"ASK":         {again: true},
	"OOM":         {},
	"LOADING":     {},
	"MASTERDOWN":  {},
	"CLUSTERDOWN": {},
	"BUSY":        {},
	"MISCONF":     {},
	"NOREPLICAS":  {},
	"NOAUTH":      {},
	"NOPERM":      {},
	"WRONGPASS":   {},
	"CROSSSLOT":   {},
	"LAYOUT":      {},
	"RANGE":       {},
}

// sortFault sorts the error of one attempt. What is not known to have left
// everything untouched counts as unknown.
func sortFault(err error) fault {
	var reply redis.Error
	if errors.As(err, &reply) {
		return sortReply(reply.Error())
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return fault{again: true}
	}
	if errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) {
		return fault{again: true}
	}
	if errors.Is(err, redis.ErrClosed) {
		return fault{again: true} // also the connections to a server that left the cluster
	}
	var timeout net.Error
	again := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &timeout)
	return fault{unknown: true, again: again && !errors.Is(err, context.Canceled)}
}

func sortReply(text string) fault {
	word, _, _ := strings.Cut(strings.TrimPrefix(text, "-"), " ")
	if f, ok := refusals[word]; ok {
		return f
	}
	if strings.HasPrefix(text, "ERR max number of clients") {
		return fault{again: true}
	}
	// Before version 7 a reply of a command inside a script comes wrapped.
	if strings.HasPrefix(text, "ERR Error running script") {
		for word, f := range refusals {
			if strings.Contains(text, "-"+word+" ") {
				return f
			}
		}
	}
	return fault{unknown: true}
}

// nothing says that a call had no effect.
func nothing(err error) error { return &commands.GateError{Err: err} }

// unknown says that a call may have had its effect.
func unknown(err error) error { return &commands.GateError{Unknown: true, Err: err} }
