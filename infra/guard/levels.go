package guard

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"seckill/commands"
	"seckill/domain"
)

// Levels is commands.Levels', but for places on a server that fails or rests: those are
// given as selling nothing, and only where all of them are so is there an error.
func (g *Gate) Levels(ctx context.Context, places []domain.Place, skus []string) ([]commands.BucketLevel, error) {
	byServer := map[*Breaker][]int{} // places, by their numbers
	for i, place := range places {
		b := g.breaker(place.Lane())
		byServer[b] = append(byServer[b], i)
	}
	servers := slices.Collect(maps.Keys(byServer))
	levels, faults := make([]commands.BucketLevel, len(places)), make([]error, len(servers))
	var looks sync.WaitGroup
	for i, b := range servers {
		looks.Go(func() {
			which := byServer[b]
			some := make([]domain.Place, len(which))
			for j, k := range which {
				some[j] = places[k]
			}
			seen, err := through(b, func() ([]commands.BucketLevel, error) { return g.levels.Levels(ctx, some, skus) })
			if faults[i] = asGateError(err); err != nil {
				return
			}
			for j, k := range which {
				levels[k] = seen[j]
			}
		})
	}
	looks.Wait()
	if !slices.Contains(faults, nil) {
		return nil, errors.Join(faults...)
	}
	return levels, nil
}
