package cli

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"syscall"

	"seckill/domain"
	"seckill/eventstore/pgstore"
	"seckill/infra/config"
	"seckill/infra/embedded"
	"seckill/infra/pg"
	"seckill/infra/redisconn"
	"seckill/infra/redisgate"
)

// sentence says an error to a person. Errors made for people are said alone,
// whatever wraps them; of the others the whole chain is the best there is.
func sentence(err error) string {
	var database *pg.Problem
	var settings *config.InvalidError
	var program *embedded.NotFoundError
	var folder *embedded.FolderError
	var refusal *domain.Problem
	var told *told
	var archived *pgstore.ArchivedError
	switch {
	case errors.As(err, &settings):
		return settings.Error()
	case errors.As(err, &told):
		return told.sentence
	case errors.As(err, &database):
		return database.Error()
	case errors.As(err, &program):
		return program.Error()
	case errors.As(err, &folder):
		return folder.Error()
	case errors.As(err, &archived):
		return archived.Error()
	case errors.As(err, &refusal):
		return refusal.Error()
	case errors.Is(err, context.Canceled):
		return "stopped before it was done"
	case errors.Is(err, context.DeadlineExceeded):
		return "this took too long and was given up: " + oneLine(err)
	}
	return oneLine(err)
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// told is an error whose sentence is fit for people; the cause is for logs.
type told struct {
	sentence string
	cause    error
}

func (t *told) Error() string { return t.sentence }
func (t *told) Unwrap() error { return t.cause }

// explainListen says why an address cannot be listened on, and with which flag to
// choose another.
func explainListen(flag, addr string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return &told{"the address " + addr + " is taken: stop what listens there, or choose another with " + flag + " (port 0 takes a free one)", err}
	case errors.Is(err, syscall.EACCES):
		return &told{"the address " + addr + " may not be used by this user: choose a port above 1023 with " + flag, err}
	}
	return &told{"the address " + addr + " cannot be listened on: is it one of this machine?", err}
}

// nodeAway says that a node did not answer; any other error stays.
func nodeAway(node string, err error) error {
	var asked *url.Error
	switch {
	case !errors.As(err, &asked) || errors.Is(err, context.Canceled):
		return err
	case asked.Timeout():
		return &told{"the node at " + node + " did not answer in time: does its process run, and is it a seckill?", err}
	}
	return &told{"the node at " + node + " cannot be reached: is it running, and is the address right?", err}
}

// explainRedis says why the gate's Redis cannot be worked with, without its
// password.
func explainRedis(address config.URL, err error) error {
	where := ""
	if a, e := redisconn.Parse(string(address)); e == nil {
		where = " at " + a.String()
	}
	var unfit *redisgate.UnfitError
	if errors.As(err, &unfit) {
		where = " at " + unfit.Where
	}
	var network net.Error
	text := err.Error()
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &network), strings.Contains(text, "EOF"):
		return &told{"Redis" + where + " cannot be reached: is it running, and does the Redis URL name the right place?", err}
	case strings.Contains(text, "WRONGPASS"), strings.Contains(text, "NOAUTH"), strings.Contains(text, "invalid password"):
		return &told{"Redis" + where + " does not let us in: check the user and password of the Redis URL", err}
	case strings.Contains(text, "DB index is out of range"), strings.Contains(text, "invalid DB index"):
		return &told{"Redis" + where + " has no database of that number: choose another at the end of the Redis URL, such as /0, or raise its setting databases", err}
	case strings.Contains(text, "MOVED "):
		return &told{"Redis" + where + " is a server of a cluster: name several of its servers in the Redis URL, with commas between, or write ?cluster=true behind it", err}
	case strings.Contains(text, "cluster support disabled"):
		return &told{"Redis" + where + " is no cluster: name one address in the Redis URL, or sentinels and ?master_name=NAME", err}
	case errors.Is(err, redisgate.ErrSentinel), strings.Contains(strings.ToLower(text), "unknown command 'cluster'"):
		return &told{"Redis" + where + " is a sentinel: name the master that it watches behind the address, as ?master_name=NAME", err}
	case strings.Contains(text, "READONLY"):
		return &told{"Redis" + where + " is a replica: name its master in the Redis URL, or sentinels and ?master_name=NAME", err}
	case strings.Contains(text, "NOREPLICAS"):
		return &told{"Redis" + where + " has fewer replicas than its setting min-replicas-to-write: start them, or lower that setting", err}
	case strings.Contains(text, "OOM "):
		return &told{"Redis" + where + " is full: raise its setting maxmemory", err}
	case strings.Contains(text, "CLUSTERDOWN"):
		return &told{"Redis" + where + " is a cluster that is down or not complete: look at CLUSTER INFO", err}
	case strings.Contains(text, "LOADING"):
		return &told{"Redis" + where + " is still loading its data: try again in a moment", err}
	}
	return err
}
