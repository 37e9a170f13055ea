package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/infra/pg/pgtest"
	"seckill/projections"
)

// logbook is an event store with orders in it, and nothing else.
type logbook struct {
	t     *testing.T
	pool  *pgxpool.Pool
	url   string
	env   []string
	store *pgstore.Store
}

func newLogbook(t *testing.T) *logbook {
	t.Helper()
	pool, url, namespace := pgtest.New(t)
	store, err := pgstore.New(pool, namespace, pgstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close(context.WithoutCancel(t.Context())) })
	env := []string{"SECKILL_DATABASE_URL=" + url, "SECKILL_NAMESPACE=" + namespace, "SECKILL_DATA_DIR=" + t.TempDir()}
	return &logbook{t: t, pool: pool, url: url, env: env, store: store}
}

// add appends payloads as order events of an order, whatever they are.
func (l *logbook) add(order, kind string, payload string) int64 {
	l.t.Helper()
	receipt, err := l.store.Submit(l.t.Context(), eventstore.Work{
		Needs: eventstore.Needs{Streams: []string{domain.OrderStream(order)}},
		Decide: func(eventstore.Look) (*eventstore.Group, error) {
			return &eventstore.Group{Appends: []eventstore.Append{{
				Stream: domain.OrderStream(order), Expected: eventstore.AnyVersion,
				Events: []eventstore.NewEvent{{ID: uuid.New(), Type: kind, Schema: 1, SaleID: "00000001", OrderID: order, Payload: []byte(payload), Metadata: []byte(`{}`)}},
			}}}, nil
		},
	})
	if err != nil || receipt.Outcome != eventstore.Stored {
		l.t.Fatalf("append: %v, %v", receipt.Outcome, err)
	}
	head, err := l.store.Head(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	return head.Number
}

func (l *logbook) rejected(order string) {
	l.t.Helper()
	l.add(order, "order.rejected", fmt.Sprintf(`{"order_id":%q,"sale_id":"00000001","buyer_id":"b","bucket":0,"reason":"guard"}`, order))
}

// project applies what there is, as a server does, and stops.
func (l *logbook) project() {
	l.t.Helper()
	source, all := projections.Source{Store: 1, Log: l.store}, projections.All()
	for i := range all {
		all[i].Core = true // wait for every one
	}
	p, err := projections.NewProjector(l.pool, source, all, projections.Options{
		Backoff: time.Millisecond, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(l.t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	head, err := l.store.Head(l.t.Context())
	if err == nil {
		waiting, stop := context.WithTimeout(l.t.Context(), 20*time.Second)
		err = projections.Progress{DB: l.pool, Source: source, Projections: all, Projector: p}.WaitFor(waiting, head.Number)
		stop()
	}
	cancel()
	if runErr := <-done; err != nil || runErr != nil {
		l.t.Fatal(err, runErr)
	}
}

// owner runs a statement as whoever may do anything.
func (l *logbook) owner(sql string) {
	l.t.Helper()
	conn, err := pgx.Connect(l.t.Context(), l.url)
	if err != nil {
		l.t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(l.t.Context()))
	var namespace string
	for _, kv := range l.env {
		if v, ok := strings.CutPrefix(kv, "SECKILL_NAMESPACE="); ok {
			namespace = v
		}
	}
	if _, err := conn.Exec(l.t.Context(), "set search_path = "+namespace+"; "+sql); err != nil {
		l.t.Fatal(err)
	}
}

type deadSequences struct {
	Sequences []struct {
		Projection, Sequence, State, Reason, Note string
		First, Events                             int64
		Applied                                   int
		OK                                        bool
	}
}

func TestB39WhatIsParkedIsListedShownDroppedAndRetriedFromTheCommandLine(t *testing.T) {
	t.Parallel()
	l := newLogbook(t)
	l.rejected("o1")
	l.rejected("o2")
	at := l.add("o1", "order.paid", "no JSON")
	l.project()

	if empty := Run(t, l.env, "dead-letters", "list", "--projection", "stock_log"); empty.Code != 0 || !strings.Contains(empty.Stdout, "Nothing is set aside") {
		t.Errorf("got %+v, want that nothing is set aside", empty)
	}
	list := wantJSON[deadSequences](t, Run(t, l.env, "dead-letters", "list", "--json"))
	if len(list.Sequences) != 2 || list.Sequences[0].Sequence != "o1" || list.Sequences[0].First != at || !strings.Contains(list.Sequences[0].Reason, "decode order.paid") {
		t.Fatalf("listed %+v, want o1 from position %d in two projections, with the reason", list, at)
	}
	shown := wantJSON[struct {
		Letters []struct {
			Position int64
			Tries    int
		}
	}](t, Run(t, l.env, "dead-letters", "show", "--sequence", "o1", "--projection", "order_view", "--json"))
	if len(shown.Letters) != 1 || shown.Letters[0].Position != at || shown.Letters[0].Tries < 3 {
		t.Errorf("shown %+v, want the event at %d with its tries", shown, at)
	}
	checkpoints := wantJSON[struct {
		Projections []struct {
			Projection string
			Parked     int
		}
	}](t, Run(t, l.env, "checkpoints", "--json"))
	parked := 0
	for _, p := range checkpoints.Projections {
		parked += p.Parked
	}
	if parked != 2 {
		t.Errorf("checkpoints say %d sequences are parked, want 2", parked)
	}
	if again := Run(t, l.env, "dead-letters", "retry", "--sequence", "o1"); again.Code != 3 || !strings.Contains(again.Stdout, "stays set aside") {
		t.Errorf("retry of what still cannot be read: got %+v, want exit code 3", again)
	}
	wantOneSentence(t, Run(t, l.env, "dead-letters", "retry"), 2, "--sequence")
	wantOneSentence(t, Run(t, l.env, "dead-letters", "show", "--sequence", "o9"), 1, "nothing of this is set aside")
	wantOneSentence(t, Run(t, l.env, "dead-letters", "drop", "--sequence", "o1", "--reason", " "), 2, "--reason")
	dropped := wantJSON[deadSequences](t, Run(t, l.env, "dead-letters", "drop", "--sequence", "o1", "--reason", "a test", "--json"))
	if len(dropped.Sequences) != 2 || dropped.Sequences[0].State != "dropped" || !strings.HasSuffix(dropped.Sequences[0].Note, ": a test") {
		t.Errorf("dropped %+v, want both with the reason", dropped)
	}
	wantLetterEvents(t, l.env, "letters.retried order_view o1", "letters.retried sale_summary o1", "letters.dropped order_view o1 a test", "letters.dropped sale_summary o1 a test")
}

// wantLetterEvents wants the log to tell of what people did about dead letters, each
// with a name.
func wantLetterEvents(t *testing.T, env []string, want ...string) {
	t.Helper()
	replayed := Run(t, env, "replay", "--stream", domain.LetterStream, "--json")
	var got []string
	for line := range strings.Lines(replayed.Stdout) {
		var e struct {
			Type    string
			Payload struct{ Projection, Sequence, Reason, By string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Payload.By == "" {
			t.Fatalf("replay gave %q: %v", line, err)
		}
		got = append(got, strings.TrimSpace(e.Type+" "+e.Payload.Projection+" "+e.Payload.Sequence+" "+e.Payload.Reason))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the log tells of %q, want %q", got, want)
	}
}

type rebuiltAnswer struct {
	Events, Position int64
	OK               bool
	Views            []struct {
		Projection   string
		Events, Rows int64
		Remembered   []struct{ Sequence, State string }
	}
	Fault struct {
		Position           int64
		Projection, Detail string
	}
}

func TestB57ARebuildFromTheCommandLineTellsWhatItReadOrWhereItStopped(t *testing.T) {
	t.Parallel()
	l := newLogbook(t)
	wantOneSentence(t, Run(t, l.env, "rebuild"), 2, "name one projection, or --all")
	wantOneSentence(t, Run(t, l.env, "rebuild", "orders"), 2, "order_view, stock_log, sale_summary")
	for i := range 20 {
		l.rejected(fmt.Sprintf("o%d", i))
	}
	all := wantJSON[rebuiltAnswer](t, Run(t, l.env, "rebuild", "--all", "--json"))
	if !all.OK || all.Events != 20 || all.Position != 20 || len(all.Views) != 3 || all.Views[0].Rows != 20 || all.Views[1].Rows != 0 {
		t.Errorf("rebuilt %+v, want 20 events and 20 orders", all)
	}
	one := Run(t, l.env, "rebuild", "order_view", "--workers", "1")
	if one.Code != 0 || !strings.Contains(one.Stdout, "20 events up to position 20") || !strings.Contains(one.Stderr, "done: 20 of 20 events") || strings.Contains(one.Stderr, "\x1b") {
		t.Errorf("got %+v, want what was read, and progress in plain lines", one)
	}

	at := l.add("o3", "order.teleported", "{}")
	stopped := Run(t, l.env, "rebuild", "--all")
	if stopped.Code != 3 || !strings.Contains(stopped.Stderr, fmt.Sprintf("position %d", at)) || stopped.Stdout != "" {
		t.Errorf("a rebuild over an unknown event: got %+v, want exit code 3 with position %d", stopped, at)
	}
	l.project()
	past := wantJSON[rebuiltAnswer](t, Run(t, l.env, "rebuild", "order_view", "--json"))
	if len(past.Views) != 1 || len(past.Views[0].Remembered) != 1 || past.Views[0].Remembered[0].Sequence != "o3" || past.Views[0].Remembered[0].State != "parked" {
		t.Errorf("rebuilt %+v, want that o3 stays parked", past)
	}

	l.owner("alter table events_000000000001 disable trigger all; update events_000000000001 set payload = payload || ' ' where position = 7")
	broken := Run(t, l.env, "rebuild", "--all", "--json")
	if broken.Code != 3 || !strings.Contains(broken.Stdout, `"position": 7`) && !strings.Contains(broken.Stdout, `"position":7`) {
		t.Errorf("a rebuild over a changed byte: got %+v, want exit code 3 with position 7", broken)
	}
}
