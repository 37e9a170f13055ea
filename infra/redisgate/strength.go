package redisgate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/domain"
)

var _ commands.Strengths = (*Gate)(nil)

// What to change on a server that does not give what is asked for.
const (
	lackReal     = "The imitated Redis inside the process keeps everything in memory: run a real one."
	lackAOF      = "The append-only file of the gate's Redis is off: set appendonly yes."
	lackAOFWrite = "The gate's Redis could not write its append-only file (aof_last_write_status in INFO persistence): make room on its disk."
	lackFsync    = "The gate's Redis has appendfsync %s: set appendfsync always."
	lackRewrite  = "The gate's Redis does not fsync while it rewrites its append-only file: set no-appendfsync-on-rewrite no."
	lackConfig   = "The gate's Redis does not tell its appendfsync, since CONFIG GET is forbidden to the gate's user: allow it (ACL +config|get), or ask for less."
	lackReplica  = "The gate's Redis has no replica that follows it (INFO replication): attach one with replicaof."
	lackMaster   = "The gate's Redis is a replica itself: connect the gate to its master."
)

// Strength reads the settings of the server that holds a place: see
// commands.Strengths. Nothing of it is remembered but whether WAITAOF is there.
func (g *Gate) Strength(ctx context.Context, place domain.Place) (commands.Strength, error) {
	if g.opt.ProcessToken != "" {
		return commands.Strength{
			domain.AcknowledgeAOF: lackReal, domain.AcknowledgeFsync: lackReal, domain.AcknowledgeReplicated: lackReal,
		}, nil
	}
	node, err := nodeOf(ctx, g.at(place.Lane()).rest, g.keys.lane(place.Lane()))
	if err != nil {
		return nil, fmt.Errorf("find the server of lane %d: %w", place.Lane(), err)
	}
	fields := map[string]string{}
	for _, section := range []string{"server", "persistence", "replication"} { // several in one command are of version 7 on
		of, err := info(ctx, node, section)
		if err != nil {
			return nil, err
		}
		maps.Copy(fields, of)
	}
	g.waitAOF.Store(atLeast(fields["redis_version"], 7, 2))
	lacks := commands.Strength{}
	lack := func(what domain.Acknowledgement, why string) {
		if why != "" {
			lacks[what] = why
		}
	}
	file := fileLack(fields)
	lack(domain.AcknowledgeAOF, file)
	if file == "" {
		if file, err = fsyncLack(ctx, node); err != nil {
			return nil, err
		}
	}
	lack(domain.AcknowledgeFsync, file)
	lack(domain.AcknowledgeReplicated, replicaLack(fields))
	return lacks, nil
}

func fileLack(fields map[string]string) string {
	switch {
	case fields["aof_enabled"] != "1":
		return lackAOF
	case fields["aof_last_write_status"] != "ok":
		return lackAOFWrite
	}
	return ""
}

func replicaLack(fields map[string]string) string {
	if fields["role"] != "master" {
		return lackMaster
	}
	for name, value := range fields {
		if strings.HasPrefix(name, "slave") && strings.Contains(value, "state=online") {
			return ""
		}
	}
	return lackReplica
}

// fsyncLack asks for what INFO does not tell.
func fsyncLack(ctx context.Context, node *redis.Client) (string, error) {
	set := map[string]string{}
	for _, name := range []string{"appendfsync", "no-appendfsync-on-rewrite"} {
		found, err := node.ConfigGet(ctx, name).Result()
		var reply redis.Error
		if errors.As(err, &reply) && (strings.HasPrefix(reply.Error(), "NOPERM") || strings.HasPrefix(reply.Error(), "ERR unknown command")) {
			return lackConfig, nil
		}
		if err != nil {
			return "", fmt.Errorf("ask the gate's Redis for its %s: %w", name, err)
		}
		set[name] = found[name]
	}
	switch {
	case set["appendfsync"] != "always":
		return fmt.Sprintf(lackFsync, set["appendfsync"]), nil
	case set["no-appendfsync-on-rewrite"] != "no":
		return lackRewrite, nil
	}
	return "", nil
}

// nodeOf gives the one server that holds a key.
func nodeOf(ctx context.Context, client redis.UniversalClient, key string) (*redis.Client, error) {
	switch c := client.(type) {
	case *redis.Client:
		return c, nil
	case *redis.ClusterClient:
		return c.MasterForKey(ctx, key)
	}
	return nil, fmt.Errorf("no single server is known behind a %T", client)
}
