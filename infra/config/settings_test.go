package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// clean empties the environment of settings for one test.
func clean(t *testing.T) {
	t.Helper()
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "SECKILL_") {
			t.Setenv(name, "")
		}
	}
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "settings")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, args ...string) Settings {
	t.Helper()
	s, err := Load(args)
	if err != nil {
		t.Fatalf("load %v: %v", args, err)
	}
	return s
}

func TestDefaultsAreTheContracts(t *testing.T) {
	clean(t)
	want := Settings{HTTPAddr: "127.0.0.1:8080", Namespace: "seckill", DataDir: ".seckill", SealDir: ".seckill/seals", StatementDir: ".seckill/statements", SealEvery: 1000, SealAfter: 10 * time.Second, ReconcileEvery: 5 * time.Minute, CleanupAfter: 336 * time.Hour, LimitPurchases: 5, LimitPolls: 20, SlowStatement: 500 * time.Millisecond,
		Deadlines: defaultDeadlines(), Admission: defaultAdmission()}
	if d := cmp.Diff(want, load(t)); d != "" {
		t.Errorf("defaults (-want +got):\n%s", d)
	}
	if s := load(t); !s.NeedsPrivatePostgres() || !s.NeedsPrivateRedis() {
		t.Error("without addresses no private stores are asked for")
	}
}

func TestFlagsBeatTheEnvironmentAndThatBeatsTheFile(t *testing.T) {
	clean(t)
	path := file(t, "# all three\nSECKILL_NAMESPACE=from_file\nSECKILL_DATA_DIR='from file'\nexport SECKILL_HTTP_ADDR=\"file:1\"\nSECKILL_KAFKA_BROKERS=a:1,b:2\n")
	t.Setenv("SECKILL_CONFIG", path)
	t.Setenv("SECKILL_NAMESPACE", "from_env")
	t.Setenv("SECKILL_DATA_DIR", "from env")
	s := load(t, "--namespace", "from_flag")
	if s.Namespace != "from_flag" || s.DataDir != "from env" || s.HTTPAddr != "file:1" {
		t.Errorf("got %s, %s, %s; want from_flag, from env, file:1", s.Namespace, s.DataDir, s.HTTPAddr)
	}
	if d := cmp.Diff([]string{"a:1", "b:2"}, s.KafkaBrokers); d != "" {
		t.Errorf("list from the file (-want +got):\n%s", d)
	}
}

func TestTheFlagNamesTheFileToo(t *testing.T) {
	clean(t)
	if s := load(t, "--config", file(t, "SECKILL_NAMESPACE=from_file")); s.Namespace != "from_file" {
		t.Errorf("namespace: got %s want from_file", s.Namespace)
	}
}

func TestAnEmptyVariableCountsAsNone(t *testing.T) {
	clean(t)
	t.Setenv("SECKILL_NAMESPACE", "")
	t.Setenv("SECKILL_HTTP_ADDR", "")
	t.Setenv("SECKILL_REDIS_URL", "")
	t.Setenv("SECKILL_KAFKA_BROKERS", "")
	s := load(t, "--config", file(t, "SECKILL_NAMESPACE=from_file"))
	if s.Namespace != "from_file" || s.HTTPAddr != DefaultHTTPAddr || s.RedisURL != "" || len(s.KafkaBrokers) > 0 {
		t.Errorf("got %q, %q, %q, %q", s.Namespace, s.HTTPAddr, s.RedisURL, s.KafkaBrokers)
	}
}

func TestUnsetAddressesFollowTheirMain(t *testing.T) {
	clean(t)
	s := load(t, "--database-url", "postgres://h/d", "--redis-url", "redis://h")
	if s.OwnerDatabaseURL != "postgres://h/d" || s.CacheRedisURL != "redis://h" {
		t.Errorf("got %s and %s", s.OwnerDatabaseURL, s.CacheRedisURL)
	}
}

func TestMistakesInTheFileNameTheirLineAndNoValue(t *testing.T) {
	clean(t)
	for text, want := range map[string]string{
		"\nSECKILL_REDIS_ULR=redis://:geheim@h":       "Line 2 of the settings file sets SECKILL_REDIS_ULR",
		"SECKILL_JWT_SECRET geheim":                   "line 1 is not NAME=value",
		"SECKILL_JWT_SECRET=\"geheim":                 "line 1 has a quote that does not end",
		"SECKILL_DATA_DIR=geheim\nSECKILL_DATA_DIR=b": "lines 1 and 2 both set SECKILL_DATA_DIR",
	} {
		_, err := Load([]string{"--config", file(t, text)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: got %v want %q", text, err, want)
		}
	}
	if _, err := Load([]string{"--config", "/nowhere/settings"}); err == nil {
		t.Error("a file that is not there was accepted")
	}
}

func TestAllProblemsAreReportedTogetherWithoutSecrets(t *testing.T) {
	clean(t)
	_, err := Load([]string{
		"--database-url", "mysql://u:geheim@h/d", "--owner-database-url", "%zz geheim", "--redis-url", "geheim@h", "--cache-redis-url", "redis://h,geheim@",
		"--kafka-brokers", "a:1,b", "--http-addr", "8080", "--jwks-url", "ftp://x", "--namespace", "Not-Good",
	})
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("got %v want an InvalidError", err)
	}
	if len(invalid.Problems) != 8 {
		t.Errorf("got %d problems want 8:\n%v", len(invalid.Problems), invalid)
	}
	for _, p := range invalid.Problems {
		if !strings.HasSuffix(p, ".") || !strings.HasPrefix(p, "SECKILL_") {
			t.Errorf("no full sentence about a setting: %q", p)
		}
	}
	if strings.Contains(err.Error(), "geheim") {
		t.Errorf("a secret is shown: %v", err)
	}
}

func TestARedisIsAServerAClusterOrWhatSentinelsName(t *testing.T) {
	clean(t)
	for _, url := range []string{"redis://:p@h:6379/0", "redis://:p@h:6379,h2:6379", "redis://:p@h:1,redis://:p@h2:2", "rediss://h:26379,h2:26379?master_name=m"} {
		for _, flag := range []string{"--redis-url", "--cache-redis-url"} {
			if _, err := Load([]string{"--redis-url", "redis://h", flag, url}); err != nil {
				t.Errorf("%s %s: got %v", flag, url, err)
			}
		}
	}
	for url, want := range map[string]string{
		"redis://:geheim@h,redis://:other@i": "names several servers that differ",
		"redis://:geheim@h,i/3":              "names a database of a cluster",
		"redis://:ge,heim@h":                 "must be an address such as",
	} {
		_, err := Load([]string{"--redis-url", url})
		if err == nil || !strings.Contains(err.Error(), "SECKILL_REDIS_URL "+want) || strings.Contains(err.Error(), "heim") {
			t.Errorf("%s: got %v, want that it says %q", url, err, want)
		}
	}
}

func TestWhoSignsTokensIsSaidOnce(t *testing.T) {
	clean(t)
	for want, args := range map[string][]string{
		"SECKILL_JWT_SECRET and SECKILL_JWKS_URL are both set": {"--jwt-secret", "geheim", "--jwks-url", "https://issuer/keys"},
		"SECKILL_JWT_ISSUER is set, but":                       {"--jwt-secret", "geheim", "--jwt-issuer", "https://issuer"},
		"SECKILL_JWT_AUDIENCE is set, but":                     {"--jwt-audience", "shop"},
	} {
		if _, err := Load(args); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%v: got %v, want %q and no secret", args, err, want)
		}
	}
	s := load(t, "--jwks-url", "https://issuer/keys", "--jwt-issuer", "https://issuer", "--jwt-audience", "shop")
	if s.JWTIssuer != "https://issuer" || s.JWTAudience != "shop" {
		t.Errorf("got issuer %q and audience %q", s.JWTIssuer, s.JWTAudience)
	}
}

func TestGoodSettingsAreAccepted(t *testing.T) {
	clean(t)
	for _, args := range [][]string{
		{"--database-url", "postgres:///db?host=/run/postgresql"},
		{"--database-url", "postgresql://u:p@[::1]:5432/db", "--owner-database-url", "postgres://o@h/db"},
		{"--redis-url", "rediss://:p@h:6379/0", "--cache-redis-url", "unix:///run/redis.sock"},
		{"--http-addr", ":0", "--namespace", "a_1", "--jwks-url", "https://issuer/keys"},
	} {
		if _, err := Load(args); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestSecretsAreNotPrintedInAnyForm(t *testing.T) {
	clean(t)
	s := load(t, "--jwt-secret", "geheim", "--database-url", "postgres://u:geheim@h/d?sslpassword=geheim")
	s.RedisURL = "redis://:geheim@h:1,redis://:geheim@i:1" // a cluster
	var out bytes.Buffer
	fmt.Fprintf(&out, "%v %+v %#v %s %q %x", s, s, s, s, s, s)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "settings", s, "url", s.RedisURL)
	slog.New(slog.NewTextHandler(&out, nil)).Info("m", "settings", s, "url", s.RedisURL, "secret", s.JWTSecret)
	if err := json.NewEncoder(&out).Encode(s); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "geheim") || strings.Contains(out.String(), fmt.Sprintf("%x", "geheim")) {
		t.Errorf("a secret is shown:\n%s", out.String())
	}
	if !strings.Contains(s.DatabaseURL.String(), "u:xxxxx@h/d") || !strings.Contains(s.RedisURL.String(), "@h:1,") {
		t.Errorf("what is no secret is hidden: %s", s.DatabaseURL)
	}
	if string(s.JWTSecret) != "geheim" {
		t.Errorf("the secret itself is lost: %q", string(s.JWTSecret))
	}
}

func TestASealHasAnEventAtLeastAndWaitsForIt(t *testing.T) {
	for _, arg := range []string{"--seal-every=0", "--seal-every=65537", "--seal-after=0", "--seal-after=-1s"} {
		clean(t)
		if _, err := Load([]string{arg}); err == nil || !strings.Contains(err.Error(), "SECKILL_SEAL_") {
			t.Errorf("%s: got %v, want it refused", arg, err)
		}
	}
}

func FuzzFileIsReadOrRefusedWithALine(f *testing.F) {
	f.Add("SECKILL_NAMESPACE=a\n#c\nB='x'")
	f.Add("export A=\"b\\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		settings, err := parse(text)
		if err != nil && !strings.Contains(err.Error(), "line") {
			t.Errorf("error without a line: %v", err)
		}
		for name, s := range settings {
			if name == "" || strings.ContainsAny(name, " \t\n=") || s.line < 1 {
				t.Errorf("odd setting %q at line %d", name, s.line)
			}
		}
	})
}

func TestThePublicTopicIsOffOnOrANameOfItsOwn(t *testing.T) {
	for value, want := range map[string]string{"": "", "off": "", "on": "shop.public", "sales.events": "sales.events"} {
		clean(t)
		t.Setenv("SECKILL_KAFKA_PUBLIC_TOPIC", value)
		if got := load(t, "--namespace", "shop", "--kafka-brokers", "a:1").KafkaPublicTopic; got != want {
			t.Errorf("%q gives the topic %q, want %q", value, got, want)
		}
	}
	for args, want := range map[string]string{
		"--kafka-public-topic=on": "SECKILL_KAFKA_BROKERS is not",
		"--kafka-brokers=a:1 --namespace=shop --kafka-public-topic=shop.events": "that is not shop.events",
		"--kafka-brokers=a:1 --kafka-public-topic=a/b":                          "must be on, off, or a name",
	} {
		clean(t)
		if _, err := Load(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want that it says %q", args, err, want)
		}
	}
}

// TestAnAddressThatCannotBeToldApartIsHiddenWhole: where the end of a password is a
// matter of opinion, nothing is shown.
func TestAnAddressThatCannotBeToldApartIsHiddenWhole(t *testing.T) {
	for _, address := range []URL{
		"postgres:/:geheim12@0", "postgres:/u:geheim12@h/d", "postgres:///u:geheim12@h/d", "postgres://u:12/geheim12@h/d",
		"postgres://u:12?geheim12@h/d", "postgres://u:12#geheim12@h/d", "postgres:u:geheim12@h", "u:geheim12@h", "redis://:12,geheim12@h:1",
		"postgres://u:x@h/d?p=1/geheim12@h",
	} {
		if shown := address.String(); shown != hidden {
			t.Errorf("%s is shown as %s", string(address), shown)
		}
	}
}
