package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/infra/load"
	"seckill/infra/testenv"
)

// logLine is what is read of a line of a node's log.
type logLine struct {
	Msg     string `json:"msg"`
	Message string `json:"message"`
	Lines   int    `json:"lines"`
}

// said counts the lines of a message, and those that were left out of it.
func (c *Child) said(message string) (written, left int) {
	for text := range strings.Lines(c.log.tail(1 << 30)) {
		var line logLine
		switch {
		case json.Unmarshal([]byte(text), &line) != nil: // not of the log
		case line.Msg == message:
			written++
		case line.Message == message:
			left += line.Lines
		}
	}
	return written, left
}

func TestACrowdBeforeAGateThatIsAwayDoesNotFillTheLog(t *testing.T) {
	t.Parallel()
	const crowd, message, aSecond = 3000, "gate did not answer", 10
	rig := NewRig(t)
	child := ServeRig(t, rig)
	c := &crowded{t: t, child: child, client: NewClient(child.URL), host: strings.TrimPrefix(child.URL, "http://")}
	c.plain = c.client.CreateSale(t, 10)
	awaitSelling(t, c.client, c.plain)
	rig.Redis.Kill()
	began := time.Now()
	run, err := load.Start(t.Context(), load.Attack{
		Addr: c.host, Arrivals: make([]time.Duration, crowd), Conns: 32, Judge: c.judge,
		Build: func(dst []byte, i int) []byte {
			return c.request(dst, "POST /api/v1/sales/"+c.plain+"/purchases", fmt.Sprintf("crowd-%d", i), "", crowdBody)
		},
	}, began)
	if err != nil {
		t.Fatal(err)
	}
	if m := run.Wait(); m.Outcomes["503 busy"]+m.Outcomes["202 "] != crowd {
		t.Fatalf("got %v, want that everybody is told to come again or that it is not known yet", m.Outcomes)
	}
	seconds := int(time.Since(began)/time.Second) + 2
	testenv.Eventually(t, 30*time.Second, func() error { // the count follows with the next record of any kind
		written, left := child.said(message)
		if most := aSecond * seconds; written > most {
			t.Fatalf("%d lines in %d s, want at most %d", written, seconds, most)
		}
		if written == 0 || written+left > crowd || written+left < crowd/2 {
			return fmt.Errorf("of %d refusals %d were written and %d counted", crowd, written, left)
		}
		return nil
	})
	answer, err := c.client.Call(http.MethodGet, "/healthz", "", "", nil)
	if err != nil || answer.Status != http.StatusOK {
		t.Errorf("health: %d %v", answer.Status, err)
	}
}
