package api

import (
	"context"
	"net/http"
	"time"
)

// Stacks tells what the goroutines of this process wait for.
type Stacks interface {
	// Stacks gives a dump that is at most a second old.
	Stacks() StacksView
}

// StacksView is one dump of all goroutines of a node, grouped by what they wait for.
type StacksView struct {
	Node       string        `json:"node" doc:"Which process answers"`
	At         time.Time     `json:"at"`
	TookUS     int64         `json:"took_us" doc:"Microseconds it took; where waits_known, the process stood still for most of it"`
	Goroutines int64         `json:"goroutines"`
	WaitsKnown bool          `json:"waits_known" doc:"false beyond 500 goroutines: then they are counted while they run, and neither ids nor oldest_ms are known"`
	Groups     []StacksGroup `json:"groups" nullable:"false" doc:"Most goroutines first"`
}

// StacksGroup is those that wait for the same.
type StacksGroup struct {
	WaitsFor   string       `json:"waits_for" doc:"A stable name, such as redis_pool, postgres_pool, log_lock, gate_queue or http_idle"`
	Says       string       `json:"says" doc:"The same in words"`
	Idle       bool         `json:"idle" doc:"true: whoever waits for it holds nobody up"`
	Goroutines int64        `json:"goroutines"`
	OldestMS   *int64       `json:"oldest_ms,omitempty" doc:"The longest wait that the runtime counted, in whole minutes, 0 where all are shorter; left out where it is not known"`
	IDs        []int64      `json:"ids" nullable:"false" doc:"Of its oldest goroutines, up to 500: one that is there in the next dump too has waited since, or waits again"`
	Sites      []StacksSite `json:"sites" nullable:"false" doc:"Where they wait, most first, up to three"`
}

// StacksSite is one place where goroutines wait.
type StacksSite struct {
	Goroutines int64    `json:"goroutines"`
	Stack      []string `json:"stack" nullable:"false" doc:"Functions from the innermost out, up to sixteen, without the runtime's"`
}

const pathStacks = "/api/v1/admin/stacks"

const stacksDescription = "What the goroutines of the node that answers wait for, grouped: ask again after some seconds to see what stays. " +
	"Up to 500 goroutines it stops the node for some tens of milliseconds at worst, and tells how long they wait; beyond that it reads the runtime's profile, which stops nobody for longer than a moment, and counts alone. " +
	"It is taken at most once a second, whoever asks. It asks no store, and needs none to answer."

type stacksAnswer struct {
	Body StacksView
}

// stacksRoutes are the lines of the table for it.
func (s *Server) stacksRoutes() []route {
	return []route{{Operation: described(op(http.MethodGet, pathStacks, "stacks", "What goroutines wait for", 401, 403), stacksDescription),
		access: admin, add: typed(s.showStacks)}}
}

func (s *Server) showStacks(context.Context, *struct{}) (*stacksAnswer, error) {
	return &stacksAnswer{Body: s.Stacks.Stacks()}, nil
}
