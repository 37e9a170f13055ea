package check

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// secrets are what compose.yaml must be given.
var secrets = []string{"SECKILL_JWT_SECRET", "SECKILL_POSTGRES_PASSWORD", "SECKILL_GRAFANA_PASSWORD"}

// compose loads compose.yaml as Compose does, with an environment and a profile ("" for
// none).
func compose(t *testing.T, env map[string]string, profile string, more ...func(*loader.Options)) (*types.Project, error) {
	t.Helper()
	dir, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	return loader.LoadWithContext(context.Background(), types.ConfigDetails{
		WorkingDir: dir, ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(dir, "compose.yaml")}}, Environment: env,
	}, append(more, func(o *loader.Options) { o.Profiles = []string{profile} })...)
}

// composed loads it with all secrets set.
func composed(t *testing.T, profile string) *types.Project {
	t.Helper()
	env := map[string]string{}
	for _, name := range secrets {
		env[name] = "text-of-this-test-that-is-long-enough"
	}
	p, err := compose(t, env, profile)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ours tells whether a service runs our program.
func ours(s types.ServiceConfig) bool { return s.Build != nil }

func TestComposeSaysWhichSecretIsMissing(t *testing.T) {
	for _, missing := range secrets {
		env := map[string]string{}
		for _, name := range secrets {
			if name != missing {
				env[name] = "x"
			}
		}
		if _, err := compose(t, env, ""); err == nil || !strings.Contains(err.Error(), missing) || !strings.Contains(err.Error(), "deploy/compose/env") {
			t.Errorf("without %s: got %v, want that it is named, and what to run", missing, err)
		}
	}
}

func TestComposeHoldsNoSecret(t *testing.T) {
	p, err := compose(t, nil, "apart", func(o *loader.Options) { o.SkipInterpolation = true })
	if err != nil {
		t.Fatal(err)
	}
	named, inURL := regexp.MustCompile(`PASSWORD|SECRET`), regexp.MustCompile(`://[^:/@]+:([^@]*)@`)
	found := 0
	for name, s := range p.Services {
		for key, value := range s.Environment {
			if value == nil {
				continue
			}
			secret := *value
			if m := inURL.FindStringSubmatch(*value); m != nil {
				secret = m[1]
			} else if !named.MatchString(key) {
				continue
			}
			found++
			if !strings.HasPrefix(secret, "${") {
				t.Errorf("%s: %s is written out", name, key)
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d secrets were found", found)
	}
}

// The script makes what is missing, once, for its owner alone.
func TestComposeSecretsAreMadeOnce(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "deploy/compose/env")
	if err := os.MkdirAll(filepath.Dir(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte(read(t, "deploy/compose/env")), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, ".env")
	if err := os.WriteFile(file, []byte("SECKILL_GRAFANA_PASSWORD=mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var made [2]string
	for i := range made {
		if out, err := exec.Command(script).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		made[i] = string(text)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 || made[0] != made[1] {
		t.Errorf("mode %v, %v, at first %q and then %q", info.Mode(), err, made[0], made[1])
	}
	for _, want := range []string{`(?m)^SECKILL_JWT_SECRET=[0-9a-f]{64}$`, `(?m)^SECKILL_POSTGRES_PASSWORD=[0-9a-f]{64}$`, `(?m)^SECKILL_GRAFANA_PASSWORD=mine$`} {
		if !regexp.MustCompile(want).MatchString(made[0]) {
			t.Errorf("no %s in %q", want, made[0])
		}
	}
}

func TestComposeServesEachRoleByExactlyOneService(t *testing.T) {
	serving := func(p *types.Project, without ...string) map[string][]string {
		all := map[string][]string{}
		for name, s := range p.Services {
			if r := rolesOf(t, s.Command); r != nil && !slices.Contains(without, name) {
				all[name] = r
			}
		}
		return all
	}
	plain, apart := serving(composed(t, "")), serving(composed(t, "apart"), "worker")
	servedOnce(t, plain)
	servedOnce(t, apart)
	if got := slices.Sorted(maps.Keys(plain)); !slices.Equal(got, []string{"api", "worker"}) {
		t.Errorf("without a profile %v serve, want api and worker", got)
	}
	if got := slices.Sorted(maps.Keys(apart)); !slices.Equal(got, []string{"api", "back", "projector", "recorder"}) {
		t.Errorf("apart %v serve, want api, back, projector and recorder", got)
	}
}

func TestComposeNamesSettingsAndFilesThatExist(t *testing.T) {
	p := composed(t, "apart")
	for name, s := range p.Services {
		if ours(s) {
			knownSettings(t, name, slices.Collect(maps.Keys(s.Environment)))
		}
		for _, v := range s.Volumes {
			switch v.Type {
			case types.VolumeTypeBind:
				if _, err := os.Stat(v.Source); err != nil || !v.ReadOnly {
					t.Errorf("%s mounts %s (read-only %v): %v", name, v.Source, v.ReadOnly, err)
				}
			case types.VolumeTypeVolume:
				if _, named := p.Volumes[v.Source]; !named || v.Source == "" {
					t.Errorf("%s: %q is no named volume", name, v.Source)
				}
			}
		}
		if s.Build != nil {
			if _, err := os.Stat(filepath.Join(s.Build.Context, "Dockerfile")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestComposeServicesAreBounded(t *testing.T) {
	pinned := regexp.MustCompile(`:v?\d+\.\d+(\.\d+)?(-\w+)?$`)
	for name, s := range composed(t, "apart").Services {
		if !ours(s) && !pinned.MatchString(s.Image) {
			t.Errorf("%s: the image %s is not pinned by its version", name, s.Image)
		}
		if s.Deploy == nil || s.Deploy.Resources.Limits == nil || s.Deploy.Resources.Limits.NanoCPUs == 0 || s.Deploy.Resources.Limits.MemoryBytes == 0 {
			t.Errorf("%s has no limits of processor and memory", name)
		}
		if user, _, _ := strings.Cut(s.User, ":"); user == "" || user == "0" || user == "root" {
			t.Errorf("%s runs as %q", name, s.User)
		}
		if !s.ReadOnly && name != "kafka" {
			t.Errorf("%s may write its file system", name)
		}
		if !slices.Contains(s.CapDrop, "ALL") || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s keeps capabilities %v, options %v", name, s.CapDrop, s.SecurityOpt)
		}
		if h := s.HealthCheck; name != "migrate" && (h == nil || h.Disable || len(h.Test) == 0) {
			t.Errorf("%s has no health check", name)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s is open to others at port %s", name, port.Published)
			}
		}
	}
}

// What compose starts waits for what it needs, and is given time to stop.
func TestComposeStartsAndStopsInOrder(t *testing.T) {
	for name, s := range composed(t, "apart").Services {
		if !ours(s) || name == "migrate" {
			continue
		}
		if d := s.DependsOn["migrate"]; d.Condition != types.ServiceConditionCompletedSuccessfully {
			t.Errorf("%s does not wait for the schema: %+v", name, d)
		}
		if d := s.DependsOn["redis"]; d.Condition != types.ServiceConditionHealthy {
			t.Errorf("%s does not wait for Redis: %+v", name, d)
		}
		served := rolesOf(t, s.Command)
		if d := s.DependsOn["kafka"]; (slices.Contains(served, "relay") || slices.Contains(served, "projector")) && d.Condition != types.ServiceConditionHealthy {
			t.Errorf("%s does not wait for Kafka: %+v", name, d)
		}
		if s.StopGracePeriod == nil || time.Duration(*s.StopGracePeriod) < time.Minute {
			t.Errorf("%s is killed after %v, want a minute at least (docs/deployment.md)", name, s.StopGracePeriod)
		}
	}
}

// Prometheus asks every service that serves.
func TestComposeWatchesEveryServiceOfOurs(t *testing.T) {
	text := read(t, "deploy/compose/prometheus.yml")
	m := regexp.MustCompile(`names: \[(.*)\]`).FindStringSubmatch(text)
	if m == nil {
		t.Fatal("no names are asked for")
	}
	got := strings.Split(m[1], ", ")
	var want []string
	for name, s := range composed(t, "apart").Services {
		if rolesOf(t, s.Command) != nil {
			want = append(want, name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("asked are %v, want %v", got, want)
	}
}

// The configuration is read by Prometheus' own program, with the rules where the
// container has them. Where it is missing the test is left out, in CI it fails.
func TestPrometheusTakesItsConfiguration(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("promtool is missing: .ci/install prometheus")
	}
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs(filepath.Join(root, "deploy/prometheus/rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, "deploy/compose/prometheus.yml")
	if strings.Count(text, "/etc/prometheus/rules/rules.yml") != 1 {
		t.Fatal("the rules are not where compose.yaml mounts them")
	}
	file := filepath.Join(t.TempDir(), "prometheus.yml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "/etc/prometheus/rules/rules.yml", rules)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "check", "config", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
