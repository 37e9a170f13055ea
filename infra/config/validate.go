package config

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"seckill/infra/redisconn"
)

// InvalidError lists all that is wrong with settings, a full sentence each.
type InvalidError struct {
	Problems []string
}

// Error is one problem a line.
func (e *InvalidError) Error() string { return strings.Join(e.Problems, "\n") }

var (
	namespaceForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`)
	nodeForm      = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	hostPort      = regexp.MustCompile(`^[A-Za-z0-9._-]+:\d{1,5}$|^\[[0-9A-Fa-f:.]+\]:\d{1,5}$`)
)

// Validate returns nil or an *InvalidError with all problems. Values that may
// hold secrets are not repeated.
func (s Settings) Validate() error {
	var p problems
	p.database("SECKILL_DATABASE_URL", s.DatabaseURL)
	p.database("SECKILL_OWNER_DATABASE_URL", s.OwnerDatabaseURL)
	p.databases(s)
	p.redis("SECKILL_REDIS_URL", s.RedisURL)
	p.redis("SECKILL_CACHE_REDIS_URL", s.CacheRedisURL)
	p.lanes(s)
	for _, broker := range s.KafkaBrokers {
		p.check(validHostPort(broker), "SECKILL_KAFKA_BROKERS must be a list of HOST:PORT, but %q is none.", broker)
	}
	p.topic(s)
	p.check(s.HTTPAddr == "" || validListen(s.HTTPAddr),
		"SECKILL_HTTP_ADDR must be HOST:PORT with a port from 0 to 65535, but it is %q.", s.HTTPAddr)
	p.check(s.AdminAddr == "" || validListen(s.AdminAddr),
		"SECKILL_ADMIN_ADDR must be HOST:PORT with a port from 0 to 65535, but it is %q.", s.AdminAddr)
	p.check(s.AdminAddr == "" || s.AdminAddr != s.HTTPAddr || strings.HasSuffix(s.AdminAddr, ":0"),
		"SECKILL_ADMIN_ADDR must not be the address of SECKILL_HTTP_ADDR: leave it out to serve operators there.")
	p.check(s.DrainFor >= 0 && s.DrainFor <= maxDrain, "SECKILL_DRAIN_FOR must be a time from 0 to %s, but it is %s.", maxDrain, s.DrainFor)
	p.check(s.Node == "" || nodeForm.MatchString(s.Node), "SECKILL_NODE must have at most 64 letters, digits, dots, dashes and underscores.")
	p.tokens(s)
	p.payments(s)
	p.deadlines(s.Deadlines)
	p.admission(s.Admission)
	p.check(s.Namespace == "" || namespaceForm.MatchString(s.Namespace),
		"SECKILL_NAMESPACE must begin with a small letter and have at most 31 small letters, digits and underscores, but it is %q.", s.Namespace)
	p.check(!strings.HasPrefix(s.Namespace, "pg_"),
		"SECKILL_NAMESPACE must not begin with pg_, which PostgreSQL keeps for itself.")
	p.check(s.SealEvery >= 1 && s.SealEvery <= 65_536, "SECKILL_SEAL_EVERY must be a number of events from 1 to 65536, but it is %d.", s.SealEvery)
	p.check(s.SealAfter > 0, "SECKILL_SEAL_AFTER must be a time above 0, such as 10s, but it is %s.", s.SealAfter)
	p.check(s.ReconcileEvery == 0 || s.ReconcileEvery >= time.Second, "SECKILL_RECONCILE_EVERY must be a time of at least 1s such as 5m, or 0, but it is %s.", s.ReconcileEvery)
	p.check(s.SlowStatement > 0, "SECKILL_SLOW_STATEMENT must be a time such as 500ms, but it is %s.", s.SlowStatement)
	p.check(s.SuccessBaseline >= 0 && s.SuccessBaseline <= 1, "SECKILL_SUCCESS_BASELINE must be above 0 and at most 1, or 0, but it is %s.", s.SuccessBaseline)
	p.check(s.CleanupAfter >= 0, "SECKILL_CLEANUP_AFTER must be a time such as 336h, but it is %s.", s.CleanupAfter)
	p.limits(s)
	p.check(s.TicketPoW == 0 || (s.TicketPoW >= 1000 && s.TicketPoW <= 10_000_000), "SECKILL_TICKET_POW must be 1000 to 10000000, or 0, but it is %d.", int64(s.TicketPoW))
	p.check(s.OwnerDatabaseURL == "" || s.DatabaseURL != "",
		"SECKILL_OWNER_DATABASE_URL is set, but SECKILL_DATABASE_URL is not: set both or none.")
	if len(p) > 0 {
		return &InvalidError{Problems: p}
	}
	return nil
}

// maxDrain keeps a process that is told to stop from being taken for one that hangs.
const maxDrain = time.Minute

// tokens refuses two issuers of tokens: it must not be guessed which one is meant.
func (p *problems) tokens(s Settings) {
	p.check(s.JWKSURL == "" || hasScheme(s.JWKSURL, "https", "http"),
		"SECKILL_JWKS_URL must be an address that begins with https:// or http://.")
	p.check(s.JWKSURL == "" || s.JWTSecret == "",
		"SECKILL_JWT_SECRET and SECKILL_JWKS_URL are both set: set the one of who signs the tokens, and leave the other out.")
	p.check(s.JWTIssuer == "" || s.JWKSURL != "",
		"SECKILL_JWT_ISSUER is set, but SECKILL_JWKS_URL is not: it is for tokens of an issuer with a JWKS.")
	p.check(s.JWTAudience == "" || s.JWKSURL != "",
		"SECKILL_JWT_AUDIENCE is set, but SECKILL_JWKS_URL is not: it is for tokens of an issuer with a JWKS.")
}

// topicForm is what Kafka takes as the name of a topic.
var topicForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)

// topic also refuses the topic of our own messages: others could not read it then.
func (p *problems) topic(s Settings) {
	name := s.KafkaPublicTopic
	if name == "" || name == "off" {
		return
	}
	p.check(len(s.KafkaBrokers) > 0, "SECKILL_KAFKA_PUBLIC_TOPIC is set, but SECKILL_KAFKA_BROKERS is not: set both or none.")
	p.check(topicForm.MatchString(name) && name != "." && name != ".." && name != s.Namespace+".events",
		"SECKILL_KAFKA_PUBLIC_TOPIC must be on, off, or a name of at most 249 letters, digits, dots, dashes and underscores that is not %s.events.", s.Namespace)
}

type problems []string

func (p *problems) check(ok bool, sentence string, values ...any) {
	if !ok {
		*p = append(*p, fmt.Sprintf(sentence, values...))
	}
}

func (p *problems) database(name string, u URL) {
	p.check(u == "" || hasScheme(string(u), "postgres", "postgresql"),
		"%s must be an address such as postgres://user:password@host:5432/database.", name)
}

func (p *problems) redis(name string, u URL) {
	if u == "" {
		return
	}
	if _, err := redisconn.Parse(string(u)); err != nil {
		p.check(false, "%s %v.", name, err)
	}
}

// lanes refuses lanes elsewhere where the others live on a private Redis: that is for a
// first look.
func (p *problems) lanes(s Settings) {
	if _, err := s.RedisLanes.Ranges(); err != nil {
		p.check(false, "SECKILL_REDIS_LANES %v.", err)
	}
	p.check(s.RedisLanes == "" || s.RedisURL != "", "SECKILL_REDIS_LANES is set, but SECKILL_REDIS_URL is not: set both or none.")
}

func hasScheme(address string, schemes ...string) bool {
	u, err := url.Parse(address)
	return err == nil && slices.Contains(schemes, u.Scheme) && u.Opaque == "" && (u.Host != "" || u.Path != "" || u.RawQuery != "")
}

func validHostPort(s string) bool {
	return hostPort.MatchString(s) && validListen(s)
}

func validListen(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	n, err := strconv.Atoi(port)
	return err == nil && n >= 0 && n <= 65535
}
