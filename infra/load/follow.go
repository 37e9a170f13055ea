package load

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// Followers poll their orders until those are decided. Its methods Build and
// Judge make an attack with one arrival per order.
type Followers struct {
	Host string
	// Orders and Tokens belong together by index.
	Orders []string
	Tokens []string
	// Pause is between two looks (200 ms); Until ends the patience.
	Pause time.Duration
	Until time.Time
}

// Build appends the question of a follower.
func (f *Followers) Build(dst []byte, i int) []byte {
	dst = append(dst, "GET /api/v1/orders/"...)
	dst = append(dst, f.Orders[i]...)
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, f.Host...)
	dst = append(dst, "\r\nAuthorization: Bearer "...)
	dst = append(dst, f.Tokens[i]...)
	return append(dst, "\r\n\r\n"...)
}

// Judge reads the status of an order: placed is what was hoped for, rejected a
// refusal. Still queued when patience ends is a fault, and so is anything but 200:
// after a 202 an order is never missing.
func (f *Followers) Judge(_ int, a Answer) Next {
	if a.Err != nil {
		return Next{Outcome: fault(a.Err), Failed: true}
	}
	var r struct {
		Status string `json:"status"`
	}
	if a.Status != http.StatusOK || json.Unmarshal(a.Body, &r) != nil {
		return Next{Outcome: "status " + strconv.Itoa(a.Status), Failed: true}
	}
	switch {
	case r.Status == "queued" && time.Now().Before(f.Until):
		return Next{Outcome: r.Status, Again: max(f.Pause, 50*time.Millisecond)}
	case r.Status == "queued":
		return Next{Outcome: r.Status, Failed: true}
	case r.Status == "rejected":
		return Next{Outcome: r.Status}
	}
	return Next{Outcome: r.Status, OK: true}
}
