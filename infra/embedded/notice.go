package embedded

import (
	"fmt"
	"strings"
)

// notice collects what the one line for people says.
type notice struct {
	postgres, redis *running
	imitate         bool // miniredis was asked for
}

func (n notice) line(dataDir string) string {
	var parts []string
	if n.postgres != nil {
		parts = append(parts, n.postgres.phrase("PostgreSQL"))
	}
	miniredis := n.redis != nil && n.redis.Token != ""
	if n.redis != nil && !miniredis {
		parts = append(parts, n.redis.phrase("Redis"))
	}
	line := ""
	if len(parts) > 0 {
		line = "Using " + strings.Join(parts, " and ") + "; the data is in " + dataDir + "."
	}
	if miniredis {
		line += fmt.Sprintf(" %srocess %d imitates Redis on port %d:"+
			" for a first look only, purchases that it accepted and that are not recorded yet end with that process.", n.why(), n.redis.Owner, n.redis.Port)
	}
	return strings.TrimSpace(line)
}

// why begins the sentence about an imitation, up to the p of process.
func (n notice) why() string {
	switch {
	case n.redis.joined:
		return "The already running p"
	case n.imitate:
		return "As asked for, p"
	}
	return "There is no Redis server here, so p"
}

func (r running) phrase(name string) string {
	how := "a private"
	if r.joined {
		how = "the already running private"
	}
	return fmt.Sprintf("%s %s %s on port %d", how, name, r.Version, r.Port)
}
