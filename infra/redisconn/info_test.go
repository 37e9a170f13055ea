package redisconn

import (
	"maps"
	"testing"
)

func TestFieldsOfInfoAreReadWithoutTheirSections(t *testing.T) {
	got := infoFields("# Server\r\nredis_version:7.0.15\r\nexecutable:/usr/bin/redis-server\r\n\r\n# Keyspace\r\ndb0:keys=1,expires=0\r\nconfig_file:\r\n")
	want := map[string]string{"redis_version": "7.0.15", "executable": "/usr/bin/redis-server", "db0": "keys=1,expires=0", "config_file": ""}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
