package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"seckill/infra/config"
	"seckill/infra/pg"
)

// numbered is the schema of one of several databases, as the migrate commands print it.
type numbered struct {
	Database string `json:"database"`
	Store    int    `json:"store"` // 0 while there is no schema
	schema
}

// migrateEach migrates every database and gives each store a number of its own.
func (c console) migrateEach(asJSON bool) error {
	ctx, done := c.stoppable()
	defer done()
	databases := c.settings.EventStores()
	for _, d := range databases {
		if err := pg.Migrate(ctx, string(d.Owner), c.settings.Namespace); err != nil {
			return onDatabase(d.Name, err)
		}
	}
	if err := c.numberStores(ctx, databases); err != nil {
		return err
	}
	return c.printSchemas(ctx, asJSON)
}

// numberStores gives every store whose number another before it has one that nobody
// has. It is the same again where nothing changed.
func (c console) numberStores(ctx context.Context, databases []config.Database) error {
	states := make([]pg.StoreState, len(databases))
	highest := 0
	for i, d := range databases {
		state, err := pg.OwnersStoreOf(ctx, string(d.Owner), c.settings.Namespace)
		if err != nil {
			return onDatabase(d.Name, err)
		}
		states[i], highest = state, max(highest, state.Number)
	}
	taken := map[int]string{}
	uuids := map[string]string{}
	for i, d := range databases {
		s := states[i]
		if other, same := uuids[s.UUID]; same {
			return distinct([]identity{{Database: config.Database{Name: other}, uuid: s.UUID}, {Database: d, uuid: s.UUID}})
		}
		uuids[s.UUID] = d.Name
		if _, twice := taken[s.Number]; twice {
			highest++
			s.Number = highest
			if err := pg.NumberStore(ctx, string(d.Owner), c.settings.Namespace, s.Number); err != nil {
				return onDatabase(d.Name, err)
			}
			c.say("Database %s is store %d.", d.Name, s.Number)
		}
		taken[s.Number] = d.Name
	}
	return nil
}

// statusOfEach tells where every schema stands.
func (c console) statusOfEach(asJSON bool) error {
	ctx, done := c.stoppable()
	defer done()
	return c.printSchemas(ctx, asJSON)
}

func (c console) printSchemas(ctx context.Context, asJSON bool) error {
	var all []numbered
	var unfit error
	for _, d := range c.settings.EventStores() {
		s, err := pg.Status(ctx, string(d.Owner), c.settings.Namespace)
		if err != nil {
			return onDatabase(d.Name, err)
		}
		n := numbered{Database: d.Name, schema: schemaOf(s)}
		if s.Version > 0 {
			state, err := pg.OwnersStoreOf(ctx, string(d.Owner), c.settings.Namespace)
			if err != nil {
				return onDatabase(d.Name, err)
			}
			n.Store = state.Number
		}
		if err := tooNew(s); err != nil && unfit == nil {
			unfit = onDatabase(d.Name, err)
		}
		all = append(all, n)
	}
	if asJSON {
		raw, err := json.Marshal(all)
		if err == nil {
			err = c.json(map[string]any{"databases": json.RawMessage(raw)})
		}
		return joinClose(unfit, err)
	}
	for _, n := range all {
		fmt.Fprintf(c.out, "database %s, store %d: ", n.Database, n.Store)
		n.schema.print(c.out)
	}
	return unfit
}
