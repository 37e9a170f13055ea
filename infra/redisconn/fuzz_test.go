package redisconn

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// FuzzParse: an address that is read has servers with ports and tells no password; one
// that is refused is not repeated, for a password may stand anywhere in it.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"redis://:geheim12@h:6379/0", "rediss://u:geheim12@h1,h2:7000/0?skip_verify=true", "redis://:geheim12@a,redis://:geheim12@b:1",
		"redis://h1,h2/0?master_name=m&sentinel_password=geheim12", "unix:///tmp/redis.sock?db=1", "redis://h?cluster=true", "redis://[::1]:6379,[::2]", "redis://h:0,i", "redis://%zz", ",",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse(text)
		if err != nil {
			if len(text) > 12 && strings.Contains(err.Error(), text) {
				t.Errorf("%q is refused with its own text: %v", text, err)
			}
			return
		}
		for _, host := range a.hosts {
			_, port, err := net.SplitHostPort(host)
			if n, notNumber := strconv.Atoi(port); err != nil || notNumber != nil || n < 1 || n > 65535 {
				t.Errorf("%q has the server %q", text, host)
			}
		}
		if u, err := url.Parse(text); err == nil && u.User != nil {
			password, _ := u.User.Password()
			if open := strings.ReplaceAll(text, u.User.String(), ""); len(password) > 6 && !strings.Contains(open, password) && strings.Contains(a.String(), password) {
				t.Errorf("%q shows itself as %q", text, a)
			}
		}
	})
}
