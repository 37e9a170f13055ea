package redisconn

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestAddressesOfEveryKindAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"redis://h":                              "h:6379/0",
		"rediss://u:p@h:7000/3?skip_verify=true": "h:7000/3",
		"unix:///run/redis.sock?db=2":            "/run/redis.sock",
		"redis://:p@h1:1,h2:2,h3":                "h1:1, h2:2, h3:6379",
		"redis://u:p@h1:1,redis://u:p@h2:2/0":    "h1:1, h2:2",
		"redis://h1:1,redis://:p@h2:2":           "h1:1, h2:2",
		"redis://[::1]:1,[::1]:2":                "[::1]:1, [::1]:2",
		"redis://h:1?cluster=true":               "h:1",
		"rediss://:p@s1,s2:5/4?master_name=m":    "m by the sentinels s1:26379, s2:5",
		"redis://s1?master_name=m":               "m by the sentinels s1:26379",
	} {
		a, err := Parse(text)
		if err != nil || a.String() != want {
			t.Errorf("%s: got %s, %v, want %s", text, a, err, want)
		}
	}
}

func TestUserPasswordTLSAndDatabaseAreKept(t *testing.T) {
	tune := Tuning{Dial: 1, Read: 2, Write: 3, Pool: 4, Conns: 5}
	a, err := Parse("rediss://u:p%2Cq@h1:1,h2:2")
	if err != nil || !a.Cluster() {
		t.Fatalf("parse: got %+v, %v", a, err)
	}
	c := a.Open(tune).(*redis.ClusterClient)
	defer c.Close()
	if o := c.Options(); o.Username != "u" || o.Password != "p,q" || o.TLSConfig == nil || o.TLSConfig.ServerName != "" ||
		o.MaxRedirects != 0 || o.MaxRetries != -1 || o.ReadOnly || !o.ContextTimeoutEnabled {
		t.Errorf("options of a cluster: got %+v", o)
	}
	a, err = Parse("redis://u:p@s1,s2/3?master_name=m&sentinel_password=x")
	if err != nil || a.Cluster() {
		t.Fatalf("parse: got %+v, %v", a, err)
	}
	if a.user != "u" || a.password != "p" || a.db != 3 || a.sentinelPassword != "x" || a.tls {
		t.Errorf("by Sentinel: got %+v", a)
	}
	m := a.Open(tune).(*redis.Client)
	defer m.Close()
	if o := m.Options(); o.Username != "u" || o.Password != "p" || o.DB != 3 || o.MaxRetries != 0 || !o.ContextTimeoutEnabled {
		t.Errorf("options by Sentinel: got %+v", o)
	}
}

func TestWhatIsNoAddressIsRefusedWithoutAnyOfIt(t *testing.T) {
	for text, want := range map[string]error{
		"":                                   errForm,
		"geheim@h":                           errForm,
		"http://:geheim@h":                   errForm,
		"redis://:geheim@h:x":                errForm,
		"redis://:ge,heim@h:1":               errForm,
		"redis://h,]":                        errForm,
		"redis://:geheim@h:1,":               errForm,
		"redis://:geheim@h:1,h2:99999":       errForm,
		"unix:///geheim,unix:///geheim":      errForm,
		"redis://:geheim@h?master_name=":     errForm,
		"redis://:geheim@h:1?cluster=geheim": errForm,
		"redis://:geheim@h,redis://:other@i": errMixed,
		"redis://:geheim@h,rediss://i":       errMixed,
		"redis://:geheim@h/1,i/2":            errMixed,
		"redis://:geheim@h,i/1":              errDatabase,
		"redis://h,i?geheim=1":               errUnknown,
		"redis://h,i?sentinel_user=geheim":   errSentinel,
	} {
		if _, err := Parse(text); err != want || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: got %v, want %v", text, err, want)
		}
	}
}

func TestAMasterThatNoSentinelNamesWasNotDialled(t *testing.T) {
	a, err := Parse("redis://127.0.0.1:1?master_name=m")
	if err != nil {
		t.Fatal(err)
	}
	c := a.Open(Tuning{Dial: 1e9, Read: 1e9, Write: 1e9, Pool: 1e9, Conns: 1})
	defer c.Close()
	err = c.Ping(t.Context()).Err()
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "dial" {
		t.Errorf("got %v, want a fault of a dial", err)
	}
}

func TestAFaultThatAMoveExplainsIsLookedInto(t *testing.T) {
	for text, want := range map[string]bool{
		"MOVED 1 h:1": true, "ASK 1 h:1": true, "READONLY You": true, "CLUSTERDOWN The": true, "NOSCRIPT No": false, "ERR x": false, "TRYAGAIN x": false,
	} {
		if got := explained(reply(text)); got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
	if explained(nil) || explained(redis.Nil) || explained(redis.ErrPoolTimeout) || !explained(&net.OpError{Op: "dial"}) {
		t.Error("errors that are no replies are sorted wrongly")
	}
}

// reply is an error that a server answered with.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}
