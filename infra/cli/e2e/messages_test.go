package e2e

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"seckill/infra/testenv"
)

func TestWhatCannotWorkIsToldInOneSentence(t *testing.T) {
	t.Parallel()
	free := "SECKILL_HTTP_ADDR=127.0.0.1:0"
	nobody := "127.0.0.1:1"
	r := NewRig(t)
	rig := slices.Clip(append(r.Settings(t), free))
	cases := map[string]struct {
		env  []string
		args []string
		code int
		says string
	}{
		"no command":             {nil, nil, 2, "expected one of"},
		"an unknown command":     {nil, []string{"sell"}, 2, "sell"},
		"an unknown flag":        {nil, []string{"serve", "--fast"}, 2, "--fast"},
		"a missing flag":         {nil, []string{"token"}, 2, "--buyer"},
		"an unknown role":        {nil, []string{"serve", "--roles", "api,cook"}, 2, `"cook"`},
		"an unknown strategy":    {nil, []string{"demo", "--strategy", "luck"}, 2, "redis-async"},
		"no Postgres":            {append(rig, "SECKILL_DATABASE_URL=postgres://u:secret@"+nobody+"/x"), []string{"serve"}, 1, "PostgreSQL at " + nobody},
		"no Redis":               {append(rig, "SECKILL_REDIS_URL=redis://:secret@"+nobody+"/0"), []string{"serve"}, 1, "Redis at " + nobody},
		"a schema that is not":   {append(rig, "SECKILL_NAMESPACE=nowhere"), []string{"serve"}, 1, "seckill migrate up"},
		"a guessable secret":     {append(rig, "SECKILL_JWT_SECRET=short"), []string{"serve"}, 2, "SECKILL_JWT_SECRET"},
		"two signers of tokens":  {append(rig, "SECKILL_JWKS_URL=https://issuer/keys"), []string{"serve"}, 2, "are both set"},
		"a backward range":       {rig, []string{"replay", "--from", "5", "--to", "3"}, 2, "--from"},
		"a time without a zone":  {rig, []string{"sale", "create", "--sku", "a", "--stock", "1", "--opens-at", "2026-11-11T00:00:00"}, 2, "--opens-at"},
		"an item that cannot be": {rig, []string{"sale", "create", "--sku", "a b", "--stock", "1"}, 2, "--sku"},
		"a price that is none":   {rig, []string{"sale", "create", "--sku", "a", "--stock", "1", "--price", "cheap"}, 2, "--price"},
		"a limit of none":        {rig, []string{"sale", "create", "--sku", "a", "--stock", "1", "--limit", "0"}, 2, "--limit"},
		"a sale of no bucket":    {rig, []string{"sale", "create", "--sku", "a", "--stock", "1", "--buckets", "0"}, 2, "--buckets must be 1 to 1024"},
		"a sale of no strategy":  {rig, []string{"sale", "create", "--sku", "a", "--stock", "1", "--strategy", "luck"}, 2, "strategy"},
		"a sale that hopes":      {rig, []string{"sale", "create", "--sku", "a", "--stock", "1", "--acknowledgement", "hope"}, 2, "acknowledgement"},
		"no stock":               {rig, []string{"sale", "create", "--sku", "a"}, 2, "--stock"},
		"a demo without stock":   {nil, []string{"demo", "--stock", "0"}, 2, "--stock"},
		"a demo of no bucket":    {nil, []string{"demo", "--buckets", "0"}, 2, "--buckets must be 1 to 1024"},
		"buckets without a gate": {nil, []string{"demo", "--buckets", "2", "--strategy", "postgres"}, 2, "--buckets must be 1"},
		"a demo without buyers":  {nil, []string{"demo", "--buyers", "0"}, 2, "--buyers"},
		"an argument too many":   {nil, []string{"sale", "list", "nope"}, 2, "`seckill sale list --help`"},
		"a role that is none":    {nil, []string{"token", "--buyer", "a", "--role", "cook"}, 2, "--role must be admin"},
		"a secret too short":     {[]string{"SECKILL_JWT_SECRET=short"}, []string{"token", "--buyer", "a"}, 2, "SECKILL_JWT_SECRET"},
		"a Redis cluster":        {append(rig, "SECKILL_REDIS_URL=redis://:secret@h:1,h:2/5"), []string{"serve"}, 2, "database of a cluster"},
		"a Redis of Sentinel":    {append(rig, "SECKILL_REDIS_URL=redis://:secret@"+nobody+"?master_name=m"), []string{"serve"}, 1, "m by the sentinels " + nobody},
		"a Redis database":       {append(rig, "SECKILL_REDIS_URL="+strings.TrimSuffix(r.Redis.URL, "/0")+"/77"), []string{"serve"}, 1, "no database of that number"},
		"no Redis program":       {[]string{free, "SECKILL_DATA_DIR=" + t.TempDir()}, []string{"serve", "--redis-bin", "/nope"}, 1, "--redis-bin"},
		"no Postgres program":    {[]string{free, "SECKILL_DATA_DIR=" + t.TempDir()}, []string{"serve", "--postgres-bin", "/nope"}, 1, "--postgres-bin"},
		"a folder nobody makes":  {[]string{free}, []string{"serve", "--data", "/proc/nope"}, 1, "--data"},
		"a folder that is none":  {[]string{free}, []string{"serve", "--data", "/etc/passwd"}, 1, "it is a file"},
		"a folder not writable":  {[]string{free}, []string{"sale", "list", "--data", "/proc"}, 1, "--data"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			done := Run(t, c.env, c.args...)
			wantOneSentence(t, done, c.code, c.says)
			if strings.Contains(done.Stderr, "secret@") {
				t.Errorf("a secret is shown: %q", done.Stderr)
			}
		})
	}
}

func TestAnAddressOfAnotherKindOfRedisIsToldAtTheStart(t *testing.T) {
	t.Parallel()
	watched := testenv.PrivateSentinel(t)
	rig := NewRig(t).Settings(t)
	for name, c := range map[string]struct{ url, says string }{
		"a sentinel as a server":    {watched.Sentinel.URL, "is a sentinel"},
		"sentinels as a cluster":    {strings.TrimSuffix(watched.Sentinel.URL, "/0") + "?cluster=true", "is a sentinel"},
		"a replica":                 {watched.Servers[1].URL, "is a replica"},
		"a master nobody watches":   {strings.Replace(watched.URL, "master_name=", "master_name=other", 1), "other"},
		"one server as a cluster":   {strings.TrimSuffix(watched.Servers[0].URL, "/0") + "?cluster=true", "is no cluster"},
		"a sentinel for some lanes": {"", "is a sentinel"},
	} {
		t.Run(name, func(t *testing.T) {
			settings := append(slices.Clip(rig), "SECKILL_HTTP_ADDR=127.0.0.1:0", "SECKILL_REDIS_URL="+c.url)
			if c.url == "" {
				settings = append(slices.Clip(rig), "SECKILL_HTTP_ADDR=127.0.0.1:0", "SECKILL_REDIS_LANES=7-9="+watched.Sentinel.URL)
			}
			wantOneSentence(t, Run(t, settings, "serve"), 1, c.says)
		})
	}
}

func TestServeStartsWithoutItsJWKSAndIsNotReadyUntilItWasRead(t *testing.T) {
	t.Parallel()
	var there atomic.Bool
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !there.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = w.Write([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`)) // to a server that may have gone
	}))
	t.Cleanup(issuer.Close)
	child := NewChild(t, ChildOptions{Env: append(NewRig(t).Settings(t), "SECKILL_JWT_SECRET=", "SECKILL_JWKS_URL="+issuer.URL)})
	child.Start()
	testenv.Eventually(t, 60*time.Second, func() error {
		answer, err := NewClient(child.URL).Call(http.MethodGet, "/readyz", "", "", nil)
		wrong, _ := answer.Body["errors"].([]any)
		if err == nil && (answer.Status != http.StatusServiceUnavailable || len(wrong) != 1 || !strings.Contains(answer.Raw, `"tokens"`)) {
			err = errStatus(answer)
		}
		return err
	})
	there.Store(true)
	child.AwaitReady()
}

func TestEveryWrongSettingIsToldAtOnce(t *testing.T) {
	t.Parallel()
	done := Run(t, []string{"SECKILL_HTTP_ADDR=nowhere", "SECKILL_NAMESPACE=Ä", "SECKILL_REDIS_URL=http://x"}, "serve")
	if done.Code != 2 {
		t.Errorf("exit code %d, want 2", done.Code)
	}
	for _, name := range []string{"SECKILL_HTTP_ADDR", "SECKILL_NAMESPACE", "SECKILL_REDIS_URL"} {
		if !strings.Contains(done.Stderr, name) {
			t.Errorf("%s is not told in %q", name, done.Stderr)
		}
	}
}
