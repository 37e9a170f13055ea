package redisconn

import (
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Address is where a Redis is. The zero value is none.
type Address struct {
	one *redis.Options // nil for a cluster and for Sentinel

	hosts          []string
	user, password string
	tls, unchecked bool // unchecked: certificates are not verified
	db             int
	master         string // by the name that sentinels know; "" for a cluster

	sentinelUser, sentinelPassword string
}

// What is wrong with an address, without anything of it: a password may stand anywhere.
var (
	errForm = errors.New("must be an address such as redis://:password@host:6379/0, those of a cluster such as redis://:password@host1:6379,host2:6379, " +
		"or those of sentinels such as redis://:password@host1:26379,host2:26379?master_name=NAME; a comma inside a password is written %2C")
	errMixed    = errors.New("names several servers that differ in scheme, user, password or database: all must have the same, and it is enough to write it once")
	errDatabase = errors.New("names a database of a cluster, which has none but 0: leave it out")
	errUnknown  = errors.New("has a parameter that is not known: with several servers there are master_name, sentinel_user, sentinel_password, cluster and skip_verify")
	errSentinel = errors.New("has a user or password of sentinels, but no master_name")
)

// Parse reads an address:
//
//	redis://user:password@host:6379/0        one server; rediss:// for TLS, unix:// for a socket
//	redis://…@host1:6379,host2:6379          a cluster, also as several such addresses with
//	                                         commas between; of one host with ?cluster=true
//	redis://…@host1:26379,host2:26379/0?master_name=NAME
//	                                         the master that sentinels know by this name. The user and
//	                                         password are Redis' own; sentinels that want some
//	                                         have them as sentinel_user and sentinel_password
//
// The error is the rest of a sentence that begins with the name of the setting.
func Parse(text string) (Address, error) {
	parts := strings.Split(text, ",")
	u, hosts, err := join(parts)
	if err != nil {
		return Address{}, err
	}
	query := u.Query()
	if len(parts) == 1 && !query.Has("master_name") && !query.Has("cluster") {
		one, err := redis.ParseURL(text)
		if err != nil {
			return Address{}, errForm // the text of err may repeat the address
		}
		return Address{one: one}, nil
	}
	return several(u, hosts, query)
}

// join gives what the parts of an address say together, and their hosts.
func join(parts []string) (all *url.URL, hosts []string, err error) {
	for i, part := range parts {
		if i > 0 && !strings.Contains(part, "://") {
			part = all.Scheme + "://" + part
		}
		u, err := url.Parse(part)
		if err != nil || u.Opaque != "" || u.Fragment != "" || !slices.Contains([]string{"redis", "rediss", "unix"}, u.Scheme) || (u.Host == "" && u.Path == "") {
			return nil, nil, errForm
		}
		hosts = append(hosts, u.Host)
		if i == 0 {
			all = u
			continue
		}
		if u.Scheme != all.Scheme || !alike(userText(all), userText(u)) || !alike(database(all), database(u)) || !alike(all.RawQuery, u.RawQuery) {
			return nil, nil, errMixed
		}
		if u.User != nil {
			all.User = u.User
		}
		if database(u) != "" {
			all.Path = u.Path
		}
		if u.RawQuery != "" {
			all.RawQuery = u.RawQuery
		}
	}
	return all, hosts, nil
}

func userText(u *url.URL) string { return u.User.String() }

func database(u *url.URL) string { return strings.Trim(u.Path, "/") }

// alike: what is written twice is written alike.
func alike(a, b string) bool { return a == "" || b == "" || a == b }

// several reads what stands for more than one server.
func several(u *url.URL, hosts []string, query url.Values) (Address, error) {
	a := Address{
		tls: u.Scheme == "rediss", user: u.User.Username(), master: query.Get("master_name"),
		sentinelUser: query.Get("sentinel_user"), sentinelPassword: query.Get("sentinel_password"),
	}
	a.password, _ = u.User.Password()
	for name := range query {
		if !slices.Contains([]string{"master_name", "sentinel_user", "sentinel_password", "cluster", "skip_verify"}, name) {
			return Address{}, errUnknown
		}
	}
	a.unchecked = query.Get("skip_verify") == "true"
	port := "6379"
	switch {
	case u.Scheme == "unix", query.Has("master_name") && (a.master == "" || query.Has("cluster")), query.Has("cluster") && query.Get("cluster") != "true":
		return Address{}, errForm
	case a.master != "":
		port = "26379"
	case query.Has("sentinel_user") || query.Has("sentinel_password"):
		return Address{}, errSentinel
	}
	if db := database(u); db != "" {
		n, err := strconv.Atoi(db)
		if err != nil || n < 0 {
			return Address{}, errForm
		}
		if a.db = n; n != 0 && a.master == "" {
			return Address{}, errDatabase
		}
	}
	for _, host := range hosts {
		full, ok := hostPort(host, port)
		if !ok {
			return Address{}, errForm
		}
		a.hosts = append(a.hosts, full)
	}
	return a, nil
}

// hostPort adds the port that is meant where none is written.
func hostPort(host, port string) (string, bool) {
	u := url.URL{Host: host}
	if u.Hostname() == "" || strings.ContainsAny(u.Hostname(), "[]") {
		return "", false
	}
	if u.Port() != "" {
		port = u.Port()
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", false
	}
	return net.JoinHostPort(u.Hostname(), port), true
}

// Cluster tells whether it is that of a cluster.
func (a Address) Cluster() bool { return a.one == nil && a.master == "" && len(a.hosts) > 0 }

// String names the servers for people, without users and passwords.
func (a Address) String() string {
	switch {
	case a.one != nil && a.one.Network == "unix":
		return a.one.Addr
	case a.one != nil:
		return a.one.Addr + "/" + strconv.Itoa(a.one.DB)
	case a.master != "":
		return a.master + " by the sentinels " + strings.Join(a.hosts, ", ")
	}
	return strings.Join(a.hosts, ", ")
}
