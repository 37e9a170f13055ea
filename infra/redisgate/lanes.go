package redisgate

import (
	"context"

	"seckill/commands"
	"seckill/domain"
)

// Lane looks at a lane: see commands.Lanes.
func (g *Gate) Lane(ctx context.Context, lane int) (commands.LaneState, error) {
	l, err := g.runList(ctx, call{
		script: g.scripts.peek, batch: 1,
		keys: []string{g.keys.lane(lane), g.keys.journal(lane)}, args: []any{g.opt.ProcessToken},
	}, 1)
	if err != nil {
		return commands.LaneState{}, err
	}
	return laneState(l[0]), nil
}

// CloseLane closes a lane under a higher epoch: see commands.Lanes. It worked if
// and only if the answer is a closed lane of that very epoch. An epoch that the
// journal holds entries of already is refused, too.
func (g *Gate) CloseLane(ctx context.Context, lane int, epoch int64) (commands.LaneState, error) {
	l, err := g.runList(ctx, call{
		script: g.scripts.closeLane, batch: 1,
		keys: []string{g.keys.lane(lane), g.keys.journal(lane)},
		args: []any{g.opt.ProcessToken, epoch, domain.FirstDigest(lane, epoch)},
	}, laneValues)
	if err != nil {
		return commands.LaneState{}, err
	}
	return laneState(l), nil
}

// OpenLane opens a closed lane: see commands.Lanes.
func (g *Gate) OpenLane(ctx context.Context, lane int, epoch int64, server string) (bool, error) {
	return g.runFlag(ctx, call{
		script: g.scripts.openLane, batch: 1,
		keys: []string{g.keys.lane(lane)}, args: []any{g.opt.ProcessToken, epoch, server},
	})
}

// Peek reads a lane, a sale's record and stock hashes at one moment: see
// commands.Hashes.
func (g *Gate) Peek(ctx context.Context, place domain.Place, skus []string) (commands.Peeked, error) {
	lane := place.Lane()
	l, err := g.runList(ctx, call{
		sale: true, script: g.scripts.peek, batch: 1,
		keys: append([]string{g.keys.lane(lane), g.keys.journal(lane), g.keys.sale(place)}, g.keys.stocks(place, skus)...),
		args: []any{g.opt.ProcessToken},
	}, 2+len(skus))
	if err != nil {
		return commands.Peeked{}, err
	}
	return peeked(l, len(skus)), nil
}

// Stubs makes stubs of what is missing during a recovery: see commands.Hashes.
func (g *Gate) Stubs(ctx context.Context, place domain.Place, skus, reset []string, epoch int64) (bool, error) {
	again := make(map[string]bool, len(reset))
	for _, sku := range reset {
		again[sku] = true
	}
	args := []any{g.opt.ProcessToken, epoch, boolArg(false)}
	all := append([]string(nil), skus...)
	for _, sku := range skus {
		args = append(args, boolArg(again[sku]))
		delete(again, sku)
	}
	for _, sku := range reset { // named only there
		if again[sku] {
			all, args = append(all, sku), append(args, boolArg(true))
			delete(again, sku)
		}
	}
	return g.runFlag(ctx, g.hashCall(g.scripts.stubs, place, all, args))
}

// StartAgain makes stubs of everything during a recovery: see commands.Hashes.
func (g *Gate) StartAgain(ctx context.Context, place domain.Place, skus []string, epoch int64) (bool, error) {
	args := []any{g.opt.ProcessToken, epoch, boolArg(true)}
	for range skus {
		args = append(args, boolArg(true))
	}
	return g.runFlag(ctx, g.hashCall(g.scripts.stubs, place, skus, args))
}

func boolArg(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// OpenHashes opens hashes during a recovery: see commands.Hashes.
func (g *Gate) OpenHashes(ctx context.Context, place domain.Place, marks commands.HashMarks, epoch int64) (bool, error) {
	args := append([]any{g.opt.ProcessToken, epoch}, markArgs(marks)...)
	return g.runFlag(ctx, g.hashCall(g.scripts.openHashes, place, marks.SKUs, args))
}

func markArgs(m commands.HashMarks) []any {
	args := []any{m.Sale.String()}
	for _, s := range m.Stocks {
		args = append(args, s.String())
	}
	return args
}

func (g *Gate) hashCall(s script, place domain.Place, skus []string, args []any) call {
	keys := append([]string{g.keys.lane(place.Lane()), g.keys.sale(place)}, g.keys.stocks(place, skus)...)
	return call{script: s, batch: 1, keys: keys, args: args}
}
