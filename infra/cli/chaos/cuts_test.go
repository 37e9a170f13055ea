package chaos

import (
	"slices"
	"strings"

	"seckill/infra/testenv"
)

// cutNames are partitions: what a role is cut off from. Roles speak to each other through
// the stores alone.
var cutNames = [...]string{"from_redis", "from_postgres", "from_kafka", "from_all", "one_way"}

// roleNames are rows that are roles.
var roleNames = rowNames[:5]

// islandSite is one in which the first process of the row's role lives in a network
// namespace of its own, with a wire to each store.
const islandSite siteKind = "island"

// cutCells are the partitions of a role.
func cutCells(role string) []cell {
	cut := func(fault, did string, wires ...string) cell {
		return cell{fault: fault, on: islandSite, hold: *stopFor, did: did, do: func(s *site) func() { return s.cutOff(false, wires...) }}
	}
	all := []cell{
		cut("from_redis", "every packet to and from Redis vanishes", "redis"),
		cut("from_postgres", "every packet to and from PostgreSQL vanishes", "postgres"),
		cut("from_kafka", "every packet to and from Kafka vanishes", "kafka"),
		cut("from_all", "every packet to and from any store vanishes", "redis", "postgres", "kafka"),
		{fault: "one_way", on: islandSite, hold: *stopFor, did: "every packet to any store vanishes, what stores send arrives",
			do: func(s *site) func() { return s.cutOff(true, "redis", "postgres", "kafka") }},
	}
	if role != "relay" && role != "projector" {
		all[2] = cell{fault: "from_kafka", why: "it talks to no broker"}
	}
	return all
}

// cutOff cuts wires of the island.
func (s *site) cutOff(outOnly bool, wires ...string) (mend func()) {
	cut := s.island.Cut
	if outOnly {
		cut = s.island.CutOut
	}
	if err := cut(wires...); err != nil {
		s.found("%v", err)
	}
	return func() {
		if err := s.island.Mend(wires...); err != nil {
			s.found("%v", err)
		}
	}
}

// overWire gives an address of a store as it is on the island.
func (s *site) overWire(store, url string) string {
	return strings.Replace(url, "127.0.0.1", s.island.Host(store), 1)
}

// hosts are the addresses at which a store is reached from the island; none without one.
func (s *site) hosts(store string) []string {
	if s.island == nil {
		return nil
	}
	return []string{s.island.Host(store)}
}

// redisConfig lets the island in.
func (s *site) redisConfig() []string {
	if s.island == nil {
		return nil
	}
	return []string{"bind " + strings.Join(slices.Concat([]string{"127.0.0.1"}, s.hosts("redis")), " "), "protected-mode no"}
}

// newIsland makes the island of a site.
func (s *site) newIsland() {
	s.t.Helper()
	s.island = testenv.NewIsland(s.t, "front", "redis", "postgres", "kafka")
}
