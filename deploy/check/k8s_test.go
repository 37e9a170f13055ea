package check

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// manifests are objects by kind and name.
type manifests map[string]any

// kinds makes an empty object of each kind that the manifests hold.
var kinds = map[string]func() any{
	"apps/v1 Deployment":                     func() any { return &appsv1.Deployment{} },
	"autoscaling/v2 HorizontalPodAutoscaler": func() any { return &autoscalingv2.HorizontalPodAutoscaler{} },
	"batch/v1 Job":                           func() any { return &batchv1.Job{} },
	"networking.k8s.io/v1 NetworkPolicy":     func() any { return &networkingv1.NetworkPolicy{} },
	"policy/v1 PodDisruptionBudget":          func() any { return &policyv1.PodDisruptionBudget{} },
	"v1 ConfigMap":                           func() any { return &corev1.ConfigMap{} },
	"v1 Namespace":                           func() any { return &corev1.Namespace{} },
	"v1 PersistentVolumeClaim":               func() any { return &corev1.PersistentVolumeClaim{} },
	"v1 Service":                             func() any { return &corev1.Service{} },
	"v1 ServiceAccount":                      func() any { return &corev1.ServiceAccount{} },
}

// decode reads YAML documents strictly: an unknown or doubled field is an error.
func decode(t *testing.T, where, text string) manifests {
	t.Helper()
	all := manifests{}
	for _, doc := range regexp.MustCompile(`(?m)^---$`).Split(text, -1) {
		var head struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		empty, known := kinds[head.APIVersion+" "+head.Kind]
		if !known {
			t.Fatalf("%s: the kind %s %s is not known here", where, head.APIVersion, head.Kind)
		}
		object := empty()
		if err := yaml.UnmarshalStrict([]byte(doc), object); err != nil {
			t.Errorf("%s, %s %s: %v", where, head.Kind, head.Metadata.Name, err)
		}
		key := head.Kind + " " + head.Metadata.Name
		if all[key] != nil {
			t.Errorf("%s: %s is there twice", where, key)
		}
		all[key] = object
	}
	return all
}

// kustomization is what is used of a kustomization.yaml.
type kustomization struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Namespace  string   `json:"namespace"`
	Resources  []string `json:"resources"`
	Images     []struct {
		Name    string `json:"name"`
		NewName string `json:"newName"`
		NewTag  string `json:"newTag"`
	} `json:"images"`
	Patches []struct {
		Path string `json:"path"`
	} `json:"patches"`
}

// base reads all that the base lists.
func base(t *testing.T) manifests {
	t.Helper()
	var k kustomization
	if err := yaml.UnmarshalStrict([]byte(read(t, "deploy/k8s/base/kustomization.yaml")), &k); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "deploy/k8s/base/*.yaml"))
	if err != nil || len(files) != len(k.Resources)+1 {
		t.Fatalf("%d files lie there, %d are listed: %v", len(files), len(k.Resources), err)
	}
	all := manifests{}
	for _, name := range k.Resources {
		maps.Copy(all, decode(t, name, read(t, "deploy/k8s/base/"+name)))
	}
	return all
}

// list gives the objects of a type by name.
func list[T any](all manifests) map[string]T {
	found := map[string]T{}
	for key, object := range all {
		if o, ok := object.(T); ok {
			_, name, _ := strings.Cut(key, " ")
			found[name] = o
		}
	}
	return found
}

func TestManifestsServeEachRoleByExactlyOneDeployment(t *testing.T) {
	serving := map[string][]string{}
	for name, d := range list[*appsv1.Deployment](base(t)) {
		serving[name] = rolesOf(t, d.Spec.Template.Spec.Containers[0].Args)
	}
	servedOnce(t, serving)
}

func TestManifestsSetSettingsThatExist(t *testing.T) {
	all := base(t)
	for name, m := range list[*corev1.ConfigMap](all) {
		knownSettings(t, name, slices.Collect(maps.Keys(m.Data)))
		for key := range m.Data {
			if regexp.MustCompile(`SECRET|DATABASE|REDIS`).MatchString(key) {
				t.Errorf("%s holds %s, which belongs into a secret", name, key)
			}
		}
	}
	for name, pod := range pods(all) {
		for _, e := range pod.Containers[0].Env {
			knownSettings(t, name, []string{e.Name})
		}
	}
	// What the text says a secret holds is a setting, too.
	named := regexp.MustCompile(`SECKILL_[A-Z_]+`).FindAllString(read(t, "deploy/k8s/base/kustomization.yaml"), -1)
	if knownSettings(t, "kustomization.yaml", named); len(named) < 4 {
		t.Errorf("the secrets that are expected hold only %v", named)
	}
}

// pods gives what runs, by the name of who runs it.
func pods(all manifests) map[string]corev1.PodSpec {
	found := map[string]corev1.PodSpec{}
	for name, d := range list[*appsv1.Deployment](all) {
		found[name] = d.Spec.Template.Spec
	}
	for name, j := range list[*batchv1.Job](all) {
		found[name] = j.Spec.Template.Spec
	}
	return found
}

func TestPodsRunWithoutRightsAndWithinBudgets(t *testing.T) {
	all := base(t)
	if len(pods(all)) != 5 {
		t.Fatalf("found %d kinds of pods", len(pods(all)))
	}
	yes := func(b *bool) bool { return b != nil && *b }
	for name, pod := range pods(all) {
		s, c := pod.SecurityContext, pod.Containers[0]
		if s == nil || !yes(s.RunAsNonRoot) || s.RunAsUser == nil || *s.RunAsUser == 0 || s.SeccompProfile == nil || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s runs as %+v", name, s)
		}
		if r := c.SecurityContext; r == nil || !yes(r.ReadOnlyRootFilesystem) || r.AllowPrivilegeEscalation == nil || *r.AllowPrivilegeEscalation ||
			r.Capabilities == nil || !slices.Equal(r.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("%s: its container runs as %+v", name, r)
		}
		if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
			t.Errorf("%s is given a token of the cluster", name)
		}
		if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
			t.Errorf("%s has the budget %+v", name, c.Resources)
		}
		volumes := map[string]corev1.Volume{}
		for _, v := range pod.Volumes {
			volumes[v.Name] = v
			if claim := v.PersistentVolumeClaim; claim != nil && all["PersistentVolumeClaim "+claim.ClaimName] == nil {
				t.Errorf("%s claims %s, which nothing makes", name, claim.ClaimName)
			}
		}
		for _, m := range c.VolumeMounts {
			if _, there := volumes[m.Name]; !there {
				t.Errorf("%s mounts %s, which is no volume of it", name, m.Name)
			}
		}
		for _, from := range c.EnvFrom {
			if from.ConfigMapRef != nil && all["ConfigMap "+from.ConfigMapRef.Name] == nil {
				t.Errorf("%s reads the map %s, which nothing makes", name, from.ConfigMapRef.Name)
			}
		}
	}
}

func TestDeploymentsStartSpreadAndStopAsTheProgramDoes(t *testing.T) {
	all := base(t)
	drain, err := time.ParseDuration(list[*corev1.ConfigMap](all)["seckill"].Data["SECKILL_DRAIN_FOR"])
	if err != nil {
		t.Fatal(err)
	}
	budgets := list[*policyv1.PodDisruptionBudget](all)
	for name, d := range list[*appsv1.Deployment](all) {
		pod := d.Spec.Template.Spec
		c := pod.Containers[0]
		ready, live := c.ReadinessProbe, c.LivenessProbe
		if ready == nil || ready.HTTPGet.Path != "/readyz" || live == nil || live.HTTPGet.Path != "/healthz" || c.StartupProbe == nil {
			t.Fatalf("%s: probes %+v, %+v, %+v", name, ready, live, c.StartupProbe)
		}
		noticed := time.Duration(ready.PeriodSeconds*ready.FailureThreshold) * time.Second
		if drain <= noticed {
			t.Errorf("%s: SECKILL_DRAIN_FOR is %s, but the balancer notices after %s", name, drain, noticed)
		}
		// What follows the drain: requests under way, and up to 5 s for what was acknowledged.
		if g := pod.TerminationGracePeriodSeconds; g == nil || time.Duration(*g)*time.Second < drain+45*time.Second {
			t.Errorf("%s is not given 45 s after a drain of %s", name, drain)
		}
		if !maps.Equal(d.Spec.Selector.MatchLabels, d.Spec.Template.Labels) {
			t.Errorf("%s selects %v and makes %v", name, d.Spec.Selector.MatchLabels, d.Spec.Template.Labels)
		}
		if b := budgets[name]; b == nil || !maps.Equal(b.Spec.Selector.MatchLabels, d.Spec.Selector.MatchLabels) {
			t.Errorf("%s has no disruption budget of its own", name)
		}
		if len(pod.TopologySpreadConstraints) != 2 {
			t.Errorf("%s is not spread over zones and nodes", name)
		}
		for _, s := range pod.TopologySpreadConstraints {
			if !maps.Equal(s.LabelSelector.MatchLabels, d.Spec.Selector.MatchLabels) {
				t.Errorf("%s is spread among %v", name, s.LabelSelector.MatchLabels)
			}
		}
		if c.Ports[0].Name != ready.HTTPGet.Port.String() {
			t.Errorf("%s is asked at the port %s", name, ready.HTTPGet.Port.String())
		}
	}
}

// A deployment without an autoscaler says itself how many there are; one with one does
// not, or each rollout would undo what the autoscaler did.
func TestAutoscalersFindTheirDeploymentsAndStayInBounds(t *testing.T) {
	all := base(t)
	scaled := list[*autoscalingv2.HorizontalPodAutoscaler](all)
	for name, h := range scaled {
		if all["Deployment "+h.Spec.ScaleTargetRef.Name] == nil || h.Spec.ScaleTargetRef.Name != name || len(h.Spec.Metrics) == 0 {
			t.Errorf("%s scales %s by %d metrics", name, h.Spec.ScaleTargetRef.Name, len(h.Spec.Metrics))
		}
		if h.Spec.MinReplicas == nil || *h.Spec.MinReplicas < 2 {
			t.Errorf("%s may leave fewer than two", name)
		}
		if (name == "seckill-recorder" || name == "seckill-projector") && h.Spec.MaxReplicas != 8 {
			t.Errorf("%s goes up to %d; more than 8 have nothing to do", name, h.Spec.MaxReplicas)
		}
	}
	for name, d := range list[*appsv1.Deployment](all) {
		if (scaled[name] == nil) != (d.Spec.Replicas != nil) {
			t.Errorf("%s says its replicas: %v, has an autoscaler: %v", name, d.Spec.Replicas != nil, scaled[name] != nil)
		}
	}
	if len(scaled) != 3 {
		t.Errorf("%d are scaled", len(scaled))
	}
}

func TestTheServiceAndThePoliciesMeetPods(t *testing.T) {
	all := base(t)
	api := list[*appsv1.Deployment](all)["seckill-api"].Spec.Template.Labels
	if s := list[*corev1.Service](all)["seckill-api"]; !maps.Equal(s.Spec.Selector, api) || s.Spec.Ports[0].TargetPort.String() != "http" {
		t.Errorf("the service leads to %v at %s", s.Spec.Selector, s.Spec.Ports[0].TargetPort.String())
	}
	for name, p := range list[*networkingv1.NetworkPolicy](all) {
		for label, value := range p.Spec.PodSelector.MatchLabels {
			if api[label] != value {
				t.Errorf("%s is about pods with %s=%s", name, label, value)
			}
		}
	}
}

func TestTheExampleIsBuilt(t *testing.T) {
	dir := "deploy/k8s/overlays/example"
	var k kustomization
	if err := yaml.UnmarshalStrict([]byte(read(t, dir+"/kustomization.yaml")), &k); err != nil {
		t.Fatal(err)
	}
	for _, path := range k.Resources {
		if _, err := os.Stat(filepath.Join(root, dir, path)); err != nil {
			t.Error(err)
		}
	}
	all := base(t)
	for _, p := range k.Patches {
		for key, object := range decode(t, p.Path, read(t, dir+"/"+p.Path)) {
			if all[key] == nil {
				t.Errorf("%s changes %s, which the base does not have", p.Path, key)
			}
			if m, ok := object.(*corev1.ConfigMap); ok {
				knownSettings(t, p.Path, slices.Collect(maps.Keys(m.Data)))
			}
		}
	}
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		t.Log("kubectl is not installed: the example was not built by kustomize")
		return
	}
	out, err := exec.Command(kubectl, "kustomize", filepath.Join(root, dir)).Output()
	if err != nil {
		t.Fatal(err)
	}
	built := decode(t, "the example", string(out))
	if want := len(all) + 1; len(built) != want {
		t.Errorf("built are %d objects, want %d: %v", len(built), want, slices.Sorted(maps.Keys(built)))
	}
	for name, pod := range pods(built) {
		if want := fmt.Sprintf("%s:%s", k.Images[0].NewName, k.Images[0].NewTag); pod.Containers[0].Image != want {
			t.Errorf("%s runs %s, want %s", name, pod.Containers[0].Image, want)
		}
	}
}
