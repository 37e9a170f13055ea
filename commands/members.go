package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"seckill/domain"
	"seckill/eventstore"
)

// MemberLists keeps lists of buyers in parts, beside the log. A list is of no
// consequence until the log names it, and never changes afterwards.
type MemberLists interface {
	// AddPart stores the next part of a list that nobody reads yet.
	AddPart(ctx context.Context, sale, list string, part int, buyers []string) error
	// Read gives every buyer of a list, part by part. None at all where the list is
	// not there.
	Read(ctx context.Context, list string, each func(buyers []string)) error
	// Drop takes away all that is stored of a list.
	Drop(ctx context.Context, list string) error
	// Lists names the lists that are stored for a sale, also those that never came to
	// count, except those that somebody may still be storing.
	Lists(ctx context.Context, sale string) ([]string, error)
}

// Members sets who may buy. One list at a time is read by a process; another one is
// busy meanwhile.
type Members struct {
	Env   *Env
	Sales *Sales
	Log   eventstore.Appender
	Lists MemberLists

	reading sync.Mutex
}

// memberPart is how many buyers stand in one stored part.
const memberPart = 5000

// Replace reads buyers from next until io.EOF and makes them the only ones who may
// buy. A buyer who comes twice counts once. Memory: 16 bytes a buyer, whatever
// their names. Any other error of next ends it, and changes nothing; so does a
// sale that is over (sale_ended). The list counts from the moment the log has it.
func (m *Members) Replace(ctx context.Context, sale string, next func() (string, error), actor Actor) (FoldedSale, error) {
	if !m.reading.TryLock() {
		return FoldedSale{}, &domain.Problem{Code: domain.CodeBusy}
	}
	defer m.reading.Unlock()
	before, err := m.Sales.Fold(ctx, sale)
	if err != nil {
		return FoldedSale{}, err
	}
	if before.Over(m.Env.Now()) {
		return FoldedSale{}, &domain.Problem{Code: domain.CodeSaleEnded}
	}
	list := domain.MemberList{ID: m.Env.NewID().String()}
	set, err := m.store(ctx, sale, list.ID, next)
	if err == nil && set.Count() == 0 {
		err = domain.Invalid(domain.FieldError{Field: "body", Reason: "want at least one buyer"})
	}
	if err != nil {
		m.drop(ctx, sale, list.ID)
		return FoldedSale{}, err
	}
	list.Count, list.Digest = set.Count(), set.Digest()
	m.Env.step("members.after-store")
	after, err := m.name(context.WithoutCancel(ctx), before, list, actor)
	if err != nil {
		// It may count, for all we know: the next list of this sale takes it away.
		return FoldedSale{}, err
	}
	if before.Members != nil {
		m.drop(ctx, sale, before.Members.ID)
	}
	m.tidy(ctx, after)
	return after, nil
}

// store reads every buyer and stores them in parts.
func (m *Members) store(ctx context.Context, sale, list string, next func() (string, error)) (*domain.MemberSet, error) {
	set, part, parts := &domain.MemberSet{}, make([]string, 0, memberPart), 0
	for ended := false; !ended; {
		buyer, err := next()
		ended = errors.Is(err, io.EOF)
		switch {
		case ended:
		case err != nil:
			return nil, err
		default:
			set.Add(buyer)
			part = append(part, buyer)
		}
		if len(part) == memberPart || (ended && len(part) > 0) {
			if err := m.Lists.AddPart(ctx, sale, list, parts, part); err != nil {
				return nil, fmt.Errorf("store members of sale %s: %w", sale, err)
			}
			parts, part = parts+1, part[:0]
		}
	}
	set.Seal()
	return set, nil
}

// name writes into the sale's stream that this list counts.
func (m *Members) name(ctx context.Context, sale FoldedSale, list domain.MemberList, actor Actor) (FoldedSale, error) {
	id := sale.ID
	for range changeTries {
		ev := sale.SetMembers(list, actor.By)
		if ev == nil {
			return FoldedSale{}, &domain.Problem{Code: domain.CodeSaleEnded}
		}
		receipt, err := appendSale(ctx, m.Env, m.Log, sale, ev, actor)
		if err != nil {
			return FoldedSale{}, err
		}
		if sale, err = m.Sales.Fold(ctx, id); err != nil {
			return FoldedSale{}, err
		}
		if receipt.Outcome != eventstore.Conflict {
			return sale, nil
		}
	}
	return FoldedSale{}, &domain.Problem{Code: domain.CodeVersionConflict}
}

// tidy takes away the lists of a sale that do not count any more. Who still judges
// by one of them for a moment has it in memory.
func (m *Members) tidy(ctx context.Context, sale FoldedSale) {
	lists, err := m.Lists.Lists(ctx, sale.ID)
	if err != nil {
		m.Env.Log.Warn("old member lists stay for now", "sale_id", sale.ID, "error", err)
		return
	}
	for _, list := range lists {
		if sale.Members == nil || list != sale.Members.ID {
			m.drop(ctx, sale.ID, list)
		}
	}
}

func (m *Members) drop(ctx context.Context, sale, list string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyBudget)
	defer cancel()
	if err := m.Lists.Drop(ctx, list); err != nil {
		m.Env.Log.Warn("a member list that does not count stays for now", "sale_id", sale, "list", list, "error", err)
	}
}

// Name names this item of a clean-up's checklist.
func (m *Members) Name() string { return "members" }

// Do takes away who might have bought in a sale that is cleaned up: the log keeps
// how many they were, and their digest.
func (m *Members) Do(ctx context.Context, run *CleanupRun) (string, error) {
	lists, err := m.Lists.Lists(ctx, run.Sale.ID)
	if err != nil {
		return "", fmt.Errorf("look for member lists of sale %s: %w", run.Sale.ID, err)
	}
	if last := run.Sale.Members; last != nil && !slices.Contains(lists, last.ID) {
		lists = append(lists, last.ID)
	}
	for _, list := range lists {
		if err := m.Lists.Drop(ctx, list); err != nil {
			return "", fmt.Errorf("take away the members of sale %s: %w", run.Sale.ID, err)
		}
	}
	return fmt.Sprintf("%d member lists taken away", len(lists)), nil
}
