package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/testenv"
)

// TestAnAcceptedOrderThatNobodyRemembersIsToldOnceWithAnApology: the process that
// answered is killed and Redis emptied before anybody recorded the purchase.
func TestAnAcceptedOrderThatNobodyRemembersIsToldOnceWithAnApology(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	settings := rig.Settings(t)
	api := Serve(t, ChildOptions{Env: settings, Args: []string{"--roles", "api"}})
	machines := NewChild(t, ChildOptions{Env: settings, Args: []string{"--roles", "recorder,relay,projector,scheduler"}})
	machines.Start()
	machines.AwaitReady()
	client := NewClient(api.URL)
	sale := client.CreateSale(t, 5)
	machines.Kill()
	orders := map[string]string{}
	buyAll(t, client, sale, "unlucky", 3, orders)
	api.Kill()
	rig.Redis.Kill()
	rig.Redis.Wipe()
	rig.Redis.Restart()
	api.Start()
	api.AwaitReady()
	machines.Start()
	machines.AwaitReady()

	for order, buyer := range orders {
		for language, apology := range map[string]string{"en": domain.RejectedLost.Sentence("en"), "zh": domain.RejectedLost.Sentence("zh")} {
			testenv.Eventually(t, 30*time.Second, func() error {
				told, err := client.Call(http.MethodGet, "/api/v1/orders/"+order, buyer, "", nil, "Accept-Language", language)
				if err == nil && (told.Text("status") != "rejected" || told.Text("reason") != "lost" || told.Text("detail") != apology) {
					err = fmt.Errorf("got %d %s", told.Status, told.Raw)
				}
				return err
			})
		}
		if other, err := client.Order("somebody", order, ""); err != nil || other.Status != http.StatusNotFound {
			t.Errorf("somebody else is told %d %s, %v", other.Status, other.Raw, err)
		}
	}
	observer := rig.Node(t, NodeOptions{APIOnly: true})
	for order, o := range readFold(t, observer.Store).orders {
		if orders[order] == "" || o.Version != 1 {
			t.Errorf("order %s has %d events, want one for each that was asked for", order, o.Version)
		}
	}
	// They count for nothing: all five units are sold, to the same buyers first.
	again := map[string]string{}
	buyAll(t, client, sale, "unlucky", 5, again)
	for order, buyer := range again {
		orders[order] = buyer
	}
	StandingChecks(t, observer, sale, orders)
	if got := readFold(t, observer.Store).placed(sale); got != 5 {
		t.Errorf("%d orders placed, want 5", got)
	}
}
