package preflight

import (
	"context"
	"fmt"
	"strconv"

	"seckill/domain"
	"seckill/infra/redisconn"
)

// eachRedis looks at every server of the gate.
func eachRedis(s *Site, name, want string, look func(RedisServer) Row) []Row {
	if s.Sale != nil && s.Sale.Gateless() {
		return nil
	}
	if len(s.Redis) == 0 {
		return []Row{unseen(name, want, nil)}
	}
	var rows []Row
	for _, server := range s.Redis {
		seen := look(server)
		if len(s.Redis) > 1 {
			seen.Seen = server.Name + ": " + seen.Seen
		}
		rows = append(rows, seen)
	}
	return rows
}

// redisKeepsEverything looks at the policy by which a full Redis would throw keys away.
func redisKeepsEverything(ctx context.Context, s *Site) []Row {
	const name, want = "redis.policy", "noeviction"
	return eachRedis(s, name, want, func(server RedisServer) Row {
		memory, err := redisconn.Info(ctx, server.Client, "memory")
		if err != nil {
			return unseen(name, want, err)
		}
		policy := memory["maxmemory_policy"]
		if policy == "" {
			return unseen(name, want, nil)
		}
		return row(name, unless(policy == want, NoGo), policy, want,
			"CONFIG SET maxmemory-policy noeviction, and in its file: else a full Redis throws stock and orders away")
	})
}

// redisAcknowledges looks at what the server keeps over its own death, against what the
// sale tells its buyers.
func redisAcknowledges(ctx context.Context, s *Site) []Row {
	const name, file = "redis.acknowledgement", "redis.aof"
	rows := eachRedis(s, file, "appendonly yes", func(server RedisServer) Row {
		fields, err := redisconn.Info(ctx, server.Client, "persistence")
		if err != nil {
			return unseen(file, "appendonly yes", err)
		}
		switch {
		case fields["aof_enabled"] == "":
			return unseen(file, "appendonly yes", nil)
		case fields["aof_enabled"] != "1":
			return row(file, Warning, "appendonly no", "appendonly yes", "a restart forgets the gate, and what the recorder had not read: CONFIG SET appendonly yes")
		case fields["aof_last_write_status"] != "ok":
			return row(file, NoGo, "the last write failed", "it can be written", "make room on its disk: Redis refuses writes until then")
		}
		return row(file, OK, "appendonly yes", "appendonly yes", "")
	})
	if s.Sale == nil || s.Strength == nil {
		return append(rows, unseen(name, "what the sale tells its buyers", nil))
	}
	asked := s.Sale.Terms.Acknowledged()
	if asked == domain.AcknowledgeMemory || s.Sale.Gateless() {
		return append(rows, row(name, OK, "the sale promises no more than the gate's memory", string(asked), ""))
	}
	why, err := s.Strength(ctx, *s.Sale)
	switch {
	case err != nil:
		return append(rows, unseen(name, string(asked), err))
	case why != "":
		return append(rows, row(name, NoGo, why, string(asked), "see docs/acknowledgement.md; the sale stays paused until then"))
	}
	return append(rows, row(name, OK, "given", string(asked), ""))
}

// copies is what Redis may need beside its keys while it writes its file anew.
const copies = 2

// redisHasRoom compares the memory that is free with what the orders will take.
func redisHasRoom(ctx context.Context, s *Site) []Row {
	const name = "redis.memory"
	winners, known := s.winners()
	need := int64(float64(winners) * s.Costs.GateBytes.Value)
	want := fmt.Sprintf("%s free for %d orders", size(need), winners)
	if !known {
		return []Row{unseen(name, "room for every order", nil)}
	}
	return eachRedis(s, name, want, func(server RedisServer) Row {
		fields, err := redisconn.Info(ctx, server.Client, "memory")
		if err != nil {
			return unseen(name, want, err)
		}
		number := func(name string) int64 {
			n, _ := strconv.ParseInt(fields[name], 10, 64) // what is no number is 0, and so not known below
			return n
		}
		used, most, machine := number("used_memory"), number("maxmemory"), number("total_system_memory")
		do := "raise maxmemory, or clean up sales that are over (`seckill cleanup`)"
		if used == 0 {
			return unseen(name, want, nil)
		}
		if most > 0 {
			free := most - used
			return row(name, unless(free >= need, NoGo), fmt.Sprintf("%s free of %s", size(max(free, 0)), size(most)), want, do)
		}
		if machine == 0 {
			return unseen(name, want, nil)
		}
		seen := fmt.Sprintf("no maxmemory; %s used, the machine has %s", size(used), size(machine))
		if copies*(used+need) > machine {
			return row(name, NoGo, seen, want+", twice while it writes its file anew", do)
		}
		return row(name, OK, seen, want, "")
	})
}
