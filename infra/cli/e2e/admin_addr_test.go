package e2e

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"seckill/infra/testenv"
)

var apart = regexp.MustCompile(`Operators are served apart, on (http://\S+)\.`)

func TestOperatorsMayHaveAListenerOfTheirOwn(t *testing.T) {
	rig := NewRig(t)
	child := ServeRig(t, rig, "SECKILL_ADMIN_ADDR=127.0.0.1:0")
	found := apart.FindStringSubmatch(child.Log())
	if found == nil {
		t.Fatalf("where are operators served?\n%s", child.Log())
	}
	public, operators := NewClient(child.URL), NewClient(found[1])
	answer, err := public.Call(http.MethodPost, "/api/v1/admin/sales", "boss", "admin", saleBody(5))
	if err != nil || answer.Status != http.StatusNotFound || answer.Text("code") != "not_found" {
		t.Errorf("an operator's call outside: got %d %s %v, want 404", answer.Status, answer.Raw, err)
	}
	for path, want := range map[string][2]int{"/metrics": {404, 200}, "/ops": {404, 200}, "/healthz": {200, 200}, "/readyz": {200, 200}} {
		for i, c := range []*Client{public, operators} {
			if answer, err := c.Call(http.MethodGet, path, "", "", nil); err != nil || answer.Status != want[i] {
				t.Errorf("%s at %s: got %d %.80s %v, want %d", path, []string{"the buyers' listener", "the operators'"}[i], answer.Status, answer.Raw, err, want[i])
			}
		}
	}
	sale := operators.CreateSale(t, 5)
	testenv.Eventually(t, 20*time.Second, func() error {
		answer, err := public.Buy(sale, "alice", "k")
		if err == nil && answer.Status != http.StatusAccepted && answer.Status != http.StatusOK {
			err = errStatus(answer)
		}
		return err
	})
	if code := child.Stop(); code != 0 {
		t.Errorf("it ended with %d, want 0", code)
	}
}
