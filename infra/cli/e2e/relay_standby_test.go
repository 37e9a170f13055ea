package e2e

import (
	"errors"
	"strings"
	"testing"
	"time"

	"seckill/infra/testenv"
)

// TestAProcessWhoseRelayWaitsForTheLeadIsReadyAgainAfterItsConnectionsBroke: another one
// publishes all the while, so this one will never tell its own success. A process of
// workers alone says whether they work.
func TestAProcessWhoseRelayWaitsForTheLeadIsReadyAgainAfterItsConnectionsBroke(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	ServeRig(t, rig)
	proxy := testenv.Proxy(t, rig.URL)
	through := *rig
	through.URL = proxy.URL()
	standby := Serve(t, ChildOptions{Env: through.Settings(t), Args: []string{"--roles", "relay,projector"}})
	testenv.Eventually(t, 60*time.Second, func() error {
		proxy.Reset()
		if !strings.Contains(standby.Log(), "relaying failed and will be tried again") {
			return errors.New("the relay that waits has not noticed that its connection broke")
		}
		return nil
	})
	testenv.Eventually(t, 60*time.Second, standby.Ready)
}
