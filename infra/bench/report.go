package bench

import (
	"fmt"
	"math"
	"slices"
	"time"

	"seckill/infra/load"
)

// Report is what a rehearsal showed. Times in its names are milliseconds unless they
// say otherwise; every latency counts from when the question was to be sent.
type Report struct {
	Scenario  string    `json:"scenario"`
	About     string    `json:"about"`
	URL       string    `json:"url"`
	SaleID    string    `json:"sale_id"`
	StartedAt time.Time `json:"started_at"`
	// Seconds is from the first arrival to the last answer.
	Seconds float64 `json:"seconds"`
	// Visitors came over ArrivedFor seconds, as Size and Mix say.
	Visitors   int     `json:"visitors"`
	ArrivedFor float64 `json:"arrived_for_s"`
	Size       Size    `json:"size"`
	Mix        string  `json:"mix"`

	// Valid is false where the generator itself was the bottleneck: Invalid says how.
	Valid   bool     `json:"valid"`
	Invalid []string `json:"invalid"`
	// Good tells that no check failed.
	Good   bool    `json:"good"`
	Checks []Check `json:"checks"`

	Generator Generator `json:"generator"`
	Offered   float64   `json:"purchases_offered_per_s"`
	Answered  float64   `json:"purchases_answered_per_s"`
	Accepted  int       `json:"accepted"`
	// AcceptedPerS is from the first arrival to the last acceptance.
	AcceptedPerS float64 `json:"accepted_per_s"`
	// AsExpected is the share of the answers to purchases that were a unit, the own order,
	// or a no with a reason; not busy, not ready, a fault, or none.
	AsExpected float64 `json:"as_expected"`

	Kinds   []Kind  `json:"kinds"`
	Series  []Slice `json:"series"`
	Backlog Backlog `json:"backlog"`
	Bytes   Bytes   `json:"bytes"`

	Module string `json:"module"`
	Go     string `json:"go"`
}

// Check is something that must hold at the end. OK is nil where it was not looked at:
// Detail says why.
type Check struct {
	Name   string `json:"name"`
	OK     *bool  `json:"ok"`
	Detail string `json:"detail"`
}

// Generator is how this process fared.
type Generator struct {
	Cores   int       `json:"cores"`
	CPUMean float64   `json:"cpu_mean"` // a share of all cores
	CPUPeak float64   `json:"cpu_peak"` // in the busiest second
	CPU     []float64 `json:"cpu"`      // by second
	LateP99 float64   `json:"send_late_p99_ms"`
	LateMax float64   `json:"send_late_max_ms"`
	Conns   int       `json:"connections"`
	Shared  bool      `json:"shares_machine"`
}

// Kind is what was answered to one kind of question.
type Kind struct {
	Name       string           `json:"kind"`
	Sent       int64            `json:"sent"`
	OK         int64            `json:"ok"`
	Refused    int64            `json:"refused"`
	Failed     int64            `json:"failed"`
	Unanswered int64            `json:"unanswered"`
	Outcomes   map[string]int64 `json:"outcomes"`
	P50        float64          `json:"p50_ms"`
	P90        float64          `json:"p90_ms"`
	P99        float64          `json:"p99_ms"`
	P999       float64          `json:"p999_ms"`
	Max        float64          `json:"max_ms"`
	// Curve is the latency at Quantiles.
	Curve []float64 `json:"curve_ms"`
}

// Quantiles are those of a kind's curve, in percent.
func Quantiles() []float64 {
	return []float64{1, 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.99, 100}
}

// Slice is a part of the time: purchases by when they were to be sent.
type Slice struct {
	AtMS    int64   `json:"at_ms"`
	ForMS   int64   `json:"for_ms"`
	Sent    int64   `json:"sent"`
	OK      int64   `json:"ok"`
	Refused int64   `json:"refused"`
	Failed  int64   `json:"failed"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	Max     float64 `json:"max_ms"`
}

// Bytes is what went over the wire in HTTP.
type Bytes struct {
	Requests    int64   `json:"requests"`
	Answers     int64   `json:"answers"`
	PerQuestion float64 `json:"per_request"`
	PerAnswer   float64 `json:"per_answer"`
	RequestMbit float64 `json:"requests_mbit_per_s"`
	AnswerMbit  float64 `json:"answers_mbit_per_s"`
}

// Bounds beyond which a run says nothing about the installation.
const (
	mostCPU  = .9
	mostLate = 10 * time.Millisecond
)

// judge says whether the generator was the bottleneck.
func (g Generator) judge(cap int) []string {
	invalid := []string{}
	if g.CPUPeak > mostCPU {
		invalid = append(invalid, fmt.Sprintf("the generator used %.0f %% of its %d cores in its busiest second, more than %.0f %%: send less, or from more machines", 100*g.CPUPeak, g.Cores, 100*mostCPU))
	}
	if limit := ms(mostLate); g.LateP99 > limit {
		why := "it had no processor when it was to send"
		if g.Conns >= cap {
			why = fmt.Sprintf("all %d connections were busy; raise --conns", g.Conns)
		} else if g.Shared {
			why += ": it shares the machine with what it measures"
		}
		invalid = append(invalid, fmt.Sprintf("sends were up to %.1f ms late at p99, more than %.0f ms (%s)", g.LateP99, limit, why))
	}
	return invalid
}

// good tells whether no check failed.
func good(checks []Check) bool {
	for _, c := range checks {
		if c.OK != nil && !*c.OK {
			return false
		}
	}
	return true
}

// order is how kinds are listed: what buyers feel first.
var order = [...]string{
	load.KindPurchase, load.KindVerdict, load.KindPlaced, load.KindPoll, load.KindPage, load.KindPayment, load.KindWebhook, load.KindAttack,
}

func byOrder(a, b Kind) int {
	return slices.Index(order[:], a.Name) - slices.Index(order[:], b.Name)
}

func kindOf(k load.Kind) Kind {
	out := Kind{
		Name: k.Name, Sent: k.Sent, OK: k.OK, Refused: k.Refused, Failed: k.Failed, Unanswered: k.Waited, Outcomes: k.Outcomes,
		P50: ms(k.Latency(50)), P90: ms(k.Latency(90)), P99: ms(k.Latency(99)), P999: ms(k.Latency(99.9)), Max: ms(k.Latency(100)),
	}
	for _, q := range Quantiles() {
		out.Curve = append(out.Curve, ms(k.Latency(q)))
	}
	return out
}

func seriesOf(k load.Kind, every time.Duration) []Slice {
	all := []Slice{}
	for i, s := range k.Slices {
		all = append(all, Slice{
			AtMS: (time.Duration(i) * every).Milliseconds(), ForMS: every.Milliseconds(), Sent: s.Sent, OK: s.OK, Refused: s.Refused, Failed: s.Failed + s.Waited,
			P50: ms(s.Latency(50)), P99: ms(s.Latency(99)), Max: ms(s.Latency(100)),
		})
	}
	return all
}

func bytesOf(a *load.Account, sends int64, took time.Duration) Bytes {
	var b Bytes
	b.Requests, b.Answers = a.Bytes()
	if sends > 0 {
		b.PerQuestion, b.PerAnswer = tenth(float64(b.Requests)/float64(sends)), tenth(float64(b.Answers)/float64(sends))
	}
	b.RequestMbit, b.AnswerMbit = perSecond(float64(b.Requests)*8/1e6, took), perSecond(float64(b.Answers)*8/1e6, took)
	return b
}

// ms is a time in milliseconds, to a hundredth.
func ms(d time.Duration) float64 { return math.Round(float64(d.Microseconds())/10) / 100 }

func tenth(v float64) float64 { return math.Round(v*10) / 10 }

func perSecond(n float64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return tenth(n / d.Seconds())
}
