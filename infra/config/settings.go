package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
)

// What an empty value stands for.
const (
	DefaultHTTPAddr  = "127.0.0.1:8080"
	DefaultNamespace = "seckill"
	DefaultDataDir   = ".seckill"
)

// Settings are all settings of the program.
type Settings struct {
	File File `name:"config" env:"SECKILL_CONFIG" placeholder:"FILE" help:"File with settings, one NAME=value a line."`

	DatabaseURL      URL `name:"database-url" env:"SECKILL_DATABASE_URL" placeholder:"URL" help:"PostgreSQL of the event store and the read models. Without it a private one runs under the data folder."`
	OwnerDatabaseURL URL `name:"owner-database-url" env:"SECKILL_OWNER_DATABASE_URL" placeholder:"URL" help:"The same database as its owner, for migrate alone. Default: the database URL."`

	// ViewsDatabaseURL is empty when views are read where they are written.
	ViewsDatabaseURL URL `name:"views-database-url" env:"SECKILL_VIEWS_DATABASE_URL" placeholder:"URL" help:"A streaming replica of the database that buyers' looks at orders are answered from; while it is away the database answers. Default: none."`

	// Databases is empty when every sale lives at DatabaseURL.
	Databases      DatabaseURLs `name:"databases" env:"SECKILL_DATABASES" placeholder:"NAME=URL…" help:"Further databases that sales live on, each sale whole on one, with spaces between; the first, of the database URL, is called main. Default: none."`
	OwnerDatabases DatabaseURLs `name:"owner-databases" env:"SECKILL_OWNER_DATABASES" placeholder:"NAME=URL…" help:"The further databases as their owners, for migrate alone. Default: the same."`
	ViewsDatabases DatabaseURLs `name:"views-databases" env:"SECKILL_VIEWS_DATABASES" placeholder:"NAME=URL…" help:"Replicas of the further databases that looks at orders are answered from. Default: none."`

	RedisURL URL `name:"redis-url" env:"SECKILL_REDIS_URL" placeholder:"URL" help:"Redis of the gate: one address, those of a cluster with commas between, or those of sentinels with ?master_name=NAME. Without it a private one runs under the data folder."`
	// RedisLanes is empty when all lanes live at RedisURL.
	RedisLanes    LaneURLs `name:"redis-lanes" env:"SECKILL_REDIS_LANES" placeholder:"RANGE=URL…" help:"Lanes of the gate that live on another Redis, such as 32-63=redis://host:6379, with spaces between. Change it only while no process runs. Default: none."`
	CacheRedisURL URL      `name:"cache-redis-url" env:"SECKILL_CACHE_REDIS_URL" placeholder:"URL" help:"Redis of limits and caches, in the same forms. Default: the Redis URL."`

	KafkaBrokers []string `name:"kafka-brokers" env:"SECKILL_KAFKA_BROKERS" placeholder:"HOST:PORT" help:"Kafka brokers. Without them messages stay inside the process."`
	// KafkaPublicTopic is empty when nothing is published for outsiders.
	KafkaPublicTopic string `name:"kafka-public-topic" env:"SECKILL_KAFKA_PUBLIC_TOPIC" placeholder:"on|off|NAME" help:"Topic for other services, one CloudEvent per event: on is NAMESPACE.public, else its name. Default: off."`

	// Node is empty when the process names itself.
	Node string `name:"node" env:"SECKILL_NODE" placeholder:"NAME" help:"Name of this process, stored beside what its buyers ask for. Default: the host name and four random letters."`

	// OTLPEndpoint is empty when the standard variables say where spans go, or nobody does.
	OTLPEndpoint string `name:"otlp-endpoint" env:"SECKILL_OTLP_ENDPOINT" placeholder:"URL" help:"Where OpenTelemetry spans are sent, by OTLP over HTTP, such as http://collector:4318. Default: what OTEL_EXPORTER_OTLP_ENDPOINT says; without it there are none."`

	HTTPAddr string `name:"http-addr" env:"SECKILL_HTTP_ADDR" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Where HTTP is served. Default: ${default}; port 0 takes a free one."`

	DrainFor time.Duration `name:"drain-for" env:"SECKILL_DRAIN_FOR" default:"0s" placeholder:"TIME" help:"How long an API process that is told to stop serves on, not ready and closing connections, so that balancers turn away first. Default: ${default}."`

	// AdminAddr is empty when operators use the same address as everybody.
	AdminAddr string `name:"admin-addr" env:"SECKILL_ADMIN_ADDR" placeholder:"HOST:PORT" help:"Where operators' calls and /metrics are served, and then nowhere else. Default: with all others."`

	Deadlines Deadlines `embed:""`
	Admission Admission `embed:""`

	JWTSecret Secret `name:"jwt-secret" env:"SECKILL_JWT_SECRET" placeholder:"TEXT" help:"Secret of the tokens' signatures. Without it and without a JWKS URL a random one is made once in the data folder."`
	JWKSURL   string `name:"jwks-url" env:"SECKILL_JWKS_URL" placeholder:"URL" help:"Where the public keys of the tokens' issuer are, in the place of a secret."`
	// JWTIssuer and JWTAudience are empty when they are not looked at.
	JWTIssuer   string `name:"jwt-issuer" env:"SECKILL_JWT_ISSUER" placeholder:"TEXT" help:"With a JWKS URL: what iss of every token must be. Default: anything."`
	JWTAudience string `name:"jwt-audience" env:"SECKILL_JWT_AUDIENCE" placeholder:"TEXT" help:"With a JWKS URL: what aud of every token must hold. Default: anything."`

	PaymentProviders []string `name:"payment-providers" env:"SECKILL_PAYMENT_PROVIDERS" placeholder:"NAME=URL" help:"Payment providers, and where each is paid: {order}, {amount} and {currency} stand in the URL for what they name."`
	PaymentSecrets   Secret   `name:"payment-secrets" env:"SECKILL_PAYMENT_SECRETS" placeholder:"NAME=TEXT,…" help:"Secrets that sign the messages of these providers; several of one name all hold, so that they can be changed. Without both and on a private database there is one provider, simulator, with a random secret made once in the data folder."`

	LimitPurchases Count `name:"limit-purchases" env:"SECKILL_LIMIT_PURCHASES" default:"5" placeholder:"N" help:"Purchase attempts of one buyer in a second, up to 100; 0: as many as they like. Default: ${default}."`
	LimitPolls     Count `name:"limit-polls" env:"SECKILL_LIMIT_POLLS" default:"20" placeholder:"N" help:"Looks of one buyer at own orders in a second, up to 100; 0: as many as they like. Default: ${default}."`
	LimitEndpoint  Count `name:"limit-endpoint" env:"SECKILL_LIMIT_ENDPOINT" default:"0" placeholder:"N" help:"Purchases, and looks at orders, of all buyers together that this process takes in a second, each; a little above the planned peak. 0: as many as come. Default: ${default}."`

	TicketPoW Count `name:"ticket-pow" env:"SECKILL_TICKET_POW" default:"0" placeholder:"N" help:"Proof of work for a purchase ticket: tries at most while few ask, such as 50000; more, the more ask. 0: none. Default: ${default}."`

	Namespace string `name:"namespace" env:"SECKILL_NAMESPACE" default:"seckill" placeholder:"NAME" help:"Schema, key prefix, topic prefix and locks. Default: ${default}."`
	DataDir   string `name:"data" env:"SECKILL_DATA_DIR" default:".seckill" placeholder:"DIR" help:"Folder of the private stores and the random secret. Default: ${default}."`

	SealKey   string        `name:"seal-key" env:"SECKILL_SEAL_KEY" placeholder:"FILE" help:"Private key that seals the log (Ed25519, PEM). Without it one is made once in the data folder."`
	SealDir   string        `name:"seal-dir" env:"SECKILL_SEAL_DIR" placeholder:"DIR" help:"Folder that seals are exported to, outside of the database. Default: seals in the data folder."`
	SealEvery Count         `name:"seal-every" env:"SECKILL_SEAL_EVERY" default:"1000" placeholder:"N" help:"Events under one seal. Default: ${default}."`
	SealAfter time.Duration `name:"seal-after" env:"SECKILL_SEAL_AFTER" default:"10s" placeholder:"TIME" help:"How long an event waits for its seal. Default: ${default}."`

	StatementDir string `name:"statement-dir" env:"SECKILL_STATEMENT_DIR" placeholder:"DIR" help:"Folder of closing statements. Default: statements in the data folder."`

	ReconcileEvery time.Duration `name:"reconcile-every" env:"SECKILL_RECONCILE_EVERY" default:"5m" placeholder:"TIME" help:"How often the scheduler compares the books of every sale; 0: never. Default: ${default}."`

	SlowStatement time.Duration `name:"slow-statement" env:"SECKILL_SLOW_STATEMENT" default:"500ms" placeholder:"TIME" help:"From when on a statement that runs is told as a slow one. Default: ${default}."`
	// SuccessBaseline is 0 when the one of the rehearsal in the data folder counts.
	SuccessBaseline Share `name:"success-baseline" env:"SECKILL_SUCCESS_BASELINE" default:"0" placeholder:"SHARE" help:"Share of purchases that do not fail, such as 0.995, under 80 percent of which an alert goes off. Default: what the rehearsal wrote into the data folder, else 1."`

	CleanupAfter time.Duration `name:"cleanup-after" env:"SECKILL_CLEANUP_AFTER" default:"336h" placeholder:"TIME" help:"How long after its end the scheduler cleans up a sale whose checklist holds; 0: never. Default: ${default}."`

	PostgresBin string `name:"postgres-bin" env:"SECKILL_POSTGRES_BIN" placeholder:"DIR" help:"Folder of the programs of the private PostgreSQL. Default: searched for."`
	RedisBin    string `name:"redis-bin" env:"SECKILL_REDIS_BIN" placeholder:"FILE" help:"Program of the private Redis, or miniredis for the imitation inside the process. Default: searched for."`
}

// Count is a number of things. Like every setting it shows itself as text.
type Count int64

// String gives its digits.
func (c Count) String() string { return strconv.FormatInt(int64(c), 10) }

// Share is a part of 1. Like every setting it shows itself as text.
type Share float64

// String gives it as a decimal fraction.
func (s Share) String() string { return strconv.FormatFloat(float64(s), 'f', -1, 64) }

// NeedsPrivatePostgres says that no PostgreSQL is configured.
func (s Settings) NeedsPrivatePostgres() bool { return s.DatabaseURL == "" }

// NeedsPrivateRedis says that no Redis is configured.
func (s Settings) NeedsPrivateRedis() bool { return s.RedisURL == "" }

// AfterApply is called by kong when everything is read: it puts defaults in
// the place of empty values, also those that follow another setting.
func (s *Settings) AfterApply() error {
	setIfEmpty(&s.HTTPAddr, DefaultHTTPAddr)
	setIfEmpty(&s.Namespace, DefaultNamespace)
	setIfEmpty(&s.DataDir, DefaultDataDir)
	switch s.KafkaPublicTopic {
	case "on":
		s.KafkaPublicTopic = s.Namespace + ".public"
	case "off":
		s.KafkaPublicTopic = ""
	}
	setIfEmpty(&s.SealDir, filepath.Join(s.DataDir, "seals"))
	setIfEmpty(&s.StatementDir, filepath.Join(s.DataDir, "statements"))
	setIfEmpty(&s.OwnerDatabaseURL, s.DatabaseURL)
	setIfEmpty(&s.CacheRedisURL, s.RedisURL)
	return nil
}

func setIfEmpty[T ~string](to *T, value T) {
	if *to == "" {
		*to = value
	}
}

// Load reads the settings from flags (args, without the program's name), the
// environment and the file. They are valid and complete if there is no error.
func Load(args []string) (Settings, error) {
	var s Settings
	parser, err := kong.New(&s, kong.Name("seckill"), kong.NoDefaultHelp())
	if err != nil {
		return Settings{}, fmt.Errorf("build parser of settings: %w", err)
	}
	if _, err := parser.Parse(args); err != nil {
		return Settings{}, fmt.Errorf("read settings: %w", err)
	}
	return s, nil
}
