package api

import (
	"context"
	"errors"
	"testing"
	"time"
)

type budgetKey struct{}

func withBudget(parent context.Context, budget time.Duration) *budgeted {
	b := &budgeted{}
	b.begin(parent, budget)
	return b
}

func TestABudgetEndsWhatIsMadeFromIt(t *testing.T) {
	parent, cancel := context.WithCancel(context.WithValue(context.Background(), budgetKey{}, "kept"))
	defer cancel()
	b := withBudget(parent, 20*time.Millisecond)
	defer b.end()
	if due, ok := b.Deadline(); !ok || time.Until(due) > 20*time.Millisecond {
		t.Errorf("got the deadline %v, %t; want one within the budget", due, ok)
	}
	child, stop := context.WithTimeout(b, time.Hour)
	defer stop()
	if child.Value(budgetKey{}) != "kept" || b.Value(budgetKey{}) != "kept" {
		t.Error("what the request's context holds is lost")
	}
	<-child.Done()
	if !errors.Is(child.Err(), context.DeadlineExceeded) || !errors.Is(b.Err(), context.DeadlineExceeded) {
		t.Errorf("got %v and %v, want the deadline", child.Err(), b.Err())
	}
}

func TestABudgetEndsWithItsRequestAndWhenItIsGivenUp(t *testing.T) {
	parent, cancel := context.WithCancel(context.Background())
	hungUp, unused := withBudget(parent, time.Hour), withBudget(parent, time.Hour)
	defer hungUp.end()
	if err := hungUp.Err(); err != nil {
		t.Errorf("got %v before anything ended, want nil", err)
	}
	unused.end()
	if !errors.Is(unused.Err(), context.Canceled) {
		t.Errorf("got %v after its end, want canceled", unused.Err())
	}
	cancel()
	<-hungUp.Done()
	if !errors.Is(hungUp.Err(), context.Canceled) {
		t.Errorf("got %v after the request ended, want canceled", hungUp.Err())
	}
}

func TestABudgetIsOverWithoutAnybodyWaitingForIt(t *testing.T) {
	b := withBudget(context.Background(), time.Nanosecond)
	defer b.end()
	for b.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if !errors.Is(b.Err(), context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline", b.Err())
	}
	select {
	case <-b.Done():
	default:
		t.Error("Err says that it is over, and Done does not")
	}
}
