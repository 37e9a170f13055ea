package redisgate

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/domain"
	"seckill/infra/redisconn"
)

// proofs says what a call asks the server about what its script wrote, in the same
// pipeline on the same connection: the server answers for that connection alone.
type proofs struct {
	replica bool // a replica has it
	disk    bool // it is on disk; only where the server has WAITAOF
}

func (p proofs) none() bool { return !p.replica && !p.disk }

// proofsFor gives what the purchases of a batch ask for together.
func (g *Gate) proofsFor(batch []*ask) proofs {
	var p proofs
	for _, a := range batch {
		switch a.r.Strength {
		case domain.AcknowledgeReplicated:
			p.replica = true
		case domain.AcknowledgeFsync:
			// Without WAITAOF the server's appendfsync always is relied on: then it sends
			// no reply before what was written until then is on disk.
			p.disk = p.disk || g.waitAOF.Load()
		}
	}
	return p
}

// attempt makes one call. proven is what the server said of the proofs asked for;
// what it did not say in time is not proven, and no error. On a cluster a server is
// asked directly once: where the lane has moved, the call finds it unproven.
func (g *Gate) attempt(ctx context.Context, client redis.UniversalClient, c call, reload bool) (reply any, proven proofs, err error) {
	if !c.proofs.none() && !c.plain {
		if node, err := nodeOf(ctx, client, c.keys[0]); err == nil {
			reply, proven, err = g.attemptProven(ctx, node, c, reload)
			redisconn.LookAgain(ctx, client, err)
			return reply, proven, err
		}
		// Whatever is wrong with the cluster, the call itself may fare better: unproven.
	}
	reply, err = scriptOn(ctx, client, c, reload).Result()
	return reply, proofs{}, err
}

func scriptOn(ctx context.Context, on redis.Cmdable, c call, reload bool) *redis.Cmd {
	if reload {
		return on.Eval(ctx, c.script.text, c.keys, c.args...)
	}
	return on.EvalSha(ctx, c.script.sha, c.keys, c.args...)
}

// proofTimeout is how long a server may take to prove something: what is left of one
// attempt belongs to the script.
func (g *Gate) proofTimeout() time.Duration { return g.opt.SaleTimeout * 2 / 3 }

func (g *Gate) attemptProven(ctx context.Context, node *redis.Client, c call, reload bool) (reply any, proven proofs, err error) {
	pipe := node.Pipeline()
	script := scriptOn(ctx, pipe, c, reload)
	ms := max(g.proofTimeout().Milliseconds(), 1)
	var replicas *redis.IntCmd
	var disk *redis.IntSliceCmd
	if c.proofs.replica {
		replicas = redis.NewIntCmd(ctx, "wait", 1, ms)
		_ = pipe.Process(ctx, replicas) // its outcome is read below
	}
	if c.proofs.disk {
		disk = redis.NewIntSliceCmd(ctx, "waitaof", 1, 0, ms)
		_ = pipe.Process(ctx, disk) // its outcome is read below
	}
	_, _ = pipe.Exec(ctx) // each command has its own outcome
	if reply, err = script.Result(); err != nil {
		return nil, proofs{}, err
	}
	if replicas != nil {
		proven.replica = replicas.Err() == nil && replicas.Val() >= 1
	}
	if disk != nil {
		proven.disk = disk.Err() == nil && len(disk.Val()) > 0 && disk.Val()[0] >= 1
	}
	return reply, proven, nil
}

// weak tells whether an acceptance lacks what was asked of it. wrote says whether the
// call of c wrote anything: a server proves what a connection wrote, so that of an
// older acceptance it proves nothing.
func (g *Gate) weak(asked domain.Acknowledgement, c call, wrote bool) bool {
	imitated := g.opt.ProcessToken != "" && !g.waitAOF.Load()
	switch asked {
	case domain.AcknowledgeReplicated:
		return !c.proven.replica || !wrote
	case domain.AcknowledgeFsync:
		return imitated || c.proofs.disk && (!c.proven.disk || !wrote)
	case domain.AcknowledgeAOF:
		return imitated
	}
	return false
}
