package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/infra/testenv"
)

// TestASaleIsStoppedWhilePostgresHangs freezes the PostgreSQL of a served sale and then
// stops selling: by a switch for all, one for the sale, and a pause. Each is answered
// soon with what is known, nobody is sold anything from then on, and afterwards it is
// recorded where it is asked for again, and lifted where it is not.
func TestASaleIsStoppedWhilePostgresHangs(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t)
	rig := rigOn(t, server.URL, testenv.PrivateRedis(t, testenv.RedisOptions{}))
	child := ServeRig(t, rig)
	client := NewClient(child.URL)
	sale, n := client.CreateSale(t, 200), 0
	buys := func(want int, code string) error {
		n++
		buyer := fmt.Sprintf("buyer-%d", n)
		answer, err := client.Buy(sale, buyer, buyer)
		if err == nil && (answer.Status != want || code != "" && answer.Text("code") != code) {
			err = fmt.Errorf("%s is answered %d %s, want %d %s", buyer, answer.Status, answer.Raw, want, code)
		}
		return err
	}
	soon := func(err func() error) { t.Helper(); testenv.Eventually(t, 40*time.Second, err) }
	soon(func() error { return buys(http.StatusAccepted, "") })
	pause := func(body map[string]any) func() (Answer, error) {
		return func() (Answer, error) {
			return client.Call(http.MethodPut, "/api/v1/admin/switches/pause_purchases", "boss", "admin", body)
		}
	}
	for name, stop := range map[string]func() (Answer, error){
		"everywhere": pause(map[string]any{"on": true, "reason": "the price is wrong"}),
		"one sale":   pause(map[string]any{"on": true, "reason": "the price is wrong", "sale": sale}),
		"a pause": func() (Answer, error) {
			return client.Call(http.MethodPost, "/api/v1/admin/sales/"+sale+"/pause", "boss", "admin", map[string]any{"note": "wrong"})
		},
	} {
		thaw := server.Freeze()
		began := time.Now()
		answer, err := stop()
		if took := time.Since(began); err != nil || answer.Status != http.StatusServiceUnavailable || took > 8*time.Second ||
			!strings.Contains(answer.Text("detail"), "The gate stops already") {
			t.Errorf("%s: got %d %s, %v after %s; want 503 soon, saying that the gate stops", name, answer.Status, answer.Raw, err, took)
		}
		for range 3 {
			if err := buys(http.StatusServiceUnavailable, "paused"); err != nil {
				t.Errorf("%s, PostgreSQL away: %v", name, err)
			}
		}
		thaw()
		child.AwaitReady()
		soon(func() error { return buys(http.StatusAccepted, "") }) // lifted: it was never recorded
	}
	soon(func() error {
		answer, err := pause(map[string]any{"on": true, "reason": "the price is wrong"})()
		if err == nil && answer.Status != http.StatusOK {
			err = errStatus(answer)
		}
		return err
	})
	if err := buys(http.StatusServiceUnavailable, "paused"); err != nil {
		t.Errorf("recorded: %v", err)
	}
}
