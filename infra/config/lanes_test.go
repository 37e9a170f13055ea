package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestLanesOfOtherServersAreRead(t *testing.T) {
	clean(t)
	s := load(t, "--redis-url", "redis://h", "--redis-lanes", "32-47=redis://:geheim@a:1,b:2  63=redis://s:1?master_name=m")
	all, err := s.RedisLanes.Ranges()
	if err != nil || len(all) != 2 || all[0] != (LaneURL{32, 47, "redis://:geheim@a:1,b:2"}) || all[1] != (LaneURL{63, 63, "redis://s:1?master_name=m"}) {
		t.Errorf("got %+v, %v", all, err)
	}
	if got := fmt.Sprintf("%v %#v", s, s); strings.Contains(got, "geheim") || !strings.Contains(got, "32-47=redis://:xxxxx@a:1,b:2 63-63=") {
		t.Errorf("shown as %s", got)
	}
}

func TestLanesThatCannotBeAreRefusedWithoutTheirSecrets(t *testing.T) {
	for lanes, want := range map[string]string{
		"redis://:geheim@h":                      "must be ranges of lanes",
		"0-64=redis://:geheim@h":                 "must be ranges of lanes",
		"9-3=redis://:geheim@h":                  "must be ranges of lanes",
		"0-3=redis://:geheim@h 3-4=redis://i":    "must be ranges of lanes",
		"0-3=http://:geheim@h":                   "has an address that must be an address such as",
		"0-3=redis://:geheim@h,redis://:other@i": "has an address that names several servers that differ",
	} {
		clean(t)
		_, err := Load([]string{"--redis-url", "redis://h", "--redis-lanes", lanes})
		if err == nil || !strings.Contains(err.Error(), "SECKILL_REDIS_LANES "+want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: got %v, want that it says %q", lanes, err, want)
		}
		if shown := LaneURLs(lanes).String(); shown != hidden {
			t.Errorf("%s is shown as %s", lanes, shown)
		}
	}
	clean(t)
	if _, err := Load([]string{"--redis-lanes", "0-3=redis://h"}); err == nil || !strings.Contains(err.Error(), "SECKILL_REDIS_URL is not") {
		t.Errorf("lanes without the Redis of the others: got %v", err)
	}
}
