package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"seckill/domain"
	"seckill/infra/config"
	"seckill/infra/pg"
)

// scope is on which of several databases a command works that names none and no sale
// or order.
type scope int

const (
	// scopeEach: on each, one after the other.
	scopeEach scope = iota
	// scopeWhole: it works on them by itself, or on none.
	scopeWhole
	// scopeNamed: only on the one that --database names: it works with positions of a
	// log, or takes something back.
	scopeNamed
)

// scopeOf gives the scope of a command by its words.
func scopeOf(command string) scope {
	switch command {
	case "serve", "bench", "sale create", "migrate up", "migrate status", "simulator", "plan", "token", "version",
		"completion", "man", "probe", "stacks", "drill stores",
		"archive verify", "audit verify-proof", "statement verify":
		return scopeWhole
	case "demo", "drill switches", "archive detach", "audit accept-loss":
		return scopeNamed
	}
	return scopeEach
}

// commandWords gives the words of a command line without its arguments.
func commandWords(parsed *kong.Context) string {
	words := strings.Fields(parsed.Command())
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return strings.HasPrefix(w, "<") }), " ")
}

// dispatch runs a command on the databases that it is for: with one database as it is,
// else on the one that --database names, on that of the sale or order it names, or on
// each.
func (c console) dispatch(parsed *kong.Context) int {
	databases := c.settings.EventStores()
	if c.only != "" {
		i := slices.IndexFunc(databases, func(d config.Database) bool { return d.Name == c.only })
		if i < 0 {
			return c.fail(usage("there is no database %q: want one of %s", c.only, strings.Join(namesOf(databases), ", ")))
		}
		if c.settings.Several() {
			return c.fail(c.runOn(parsed, databases[i]))
		}
	}
	command := commandWords(parsed)
	if !c.settings.Several() || scopeOf(command) == scopeWhole {
		return c.fail(parsed.Run(c))
	}
	if stream := namedStream(parsed); stream != "" {
		d, err := c.databaseOf(stream)
		if err != nil {
			return c.fail(err)
		}
		return c.fail(c.runOn(parsed, d))
	}
	if scopeOf(command) == scopeNamed {
		return c.fail(usage("%s works on one database: name it with --database, one of %s", command, strings.Join(namesOf(databases), ", ")))
	}
	return c.onEach(parsed, command)
}

// runOn runs a command on one of several databases, once it is sure that no two of
// them are taken for each other.
func (c console) runOn(parsed *kong.Context, d config.Database) error {
	if command := commandWords(parsed); command != "migrate up" && command != "migrate status" {
		if err := c.checkDistinct(); err != nil {
			return err
		}
	}
	on := c.on(d)
	on.narrowed = true
	return parsed.Run(on)
}

// on gives a console whose only database is d.
func (c console) on(d config.Database) console {
	c.settings = c.settings.On(d)
	return c
}

func namesOf(databases []config.Database) []string {
	names := make([]string, len(databases))
	for i, d := range databases {
		names[i] = d.Name
	}
	return names
}

// namedStream gives the stream by which a command line says where it works: that of
// the sale or order it names, or the one it asks for; "" where it names none.
func namedStream(parsed *kong.Context) string {
	named := map[string]string{}
	for _, p := range parsed.Path {
		value := p.Positional
		if p.Flag != nil {
			value = p.Flag.Value
		}
		if value == nil {
			continue
		}
		if text, ok := value.Target.Interface().(string); ok {
			named[value.Name] = text
		}
	}
	switch {
	case named["order"] != "":
		return domain.OrderStream(named["order"])
	case isOrderID(named["id"]): // of trace
		return domain.OrderStream(named["id"])
	case named["receipt"] != "":
		receipt, err := domain.ParseReceipt(named["receipt"])
		if err != nil {
			return ""
		}
		return domain.SaleStream(receipt.Sale)
	case named["sale"] != "":
		return domain.SaleStream(named["sale"])
	case named["stream"] != domain.SwitchStream:
		return named["stream"]
	}
	return ""
}

func isOrderID(id string) bool {
	_, err := domain.ParseOrderID(id)
	return err == nil
}

// lookBudget bounds looking at one database for whose it is.
const lookBudget = 10 * time.Second

// identity is what one of several databases says of itself; err where it does not answer.
type identity struct {
	config.Database
	store int
	uuid  string
	found bool
	err   error
}

const selectIdentity = `select number, uuid::text, exists (select from streams where stream = $1) from store`

// identities asks each database who it is, and whether it has a stream, all at once.
func (c console) identities(stream string) []identity {
	ctx, cancel := context.WithTimeout(context.Background(), lookBudget)
	defer cancel()
	databases := c.settings.EventStores()
	all := make([]identity, len(databases))
	var asking sync.WaitGroup
	for i, d := range databases {
		all[i].Database = d
		asking.Go(func() {
			pool, err := pg.Open(ctx, string(d.URL), pg.Options{Namespace: c.settings.Namespace, MaxConns: 1, AppName: "seckill directory"})
			if err != nil {
				all[i].err = err
				return
			}
			defer pool.Close()
			all[i].err = pool.QueryRow(ctx, selectIdentity, stream).Scan(&all[i].store, &all[i].uuid, &all[i].found)
		})
	}
	asking.Wait()
	return all
}

// distinct refuses databases that are one, or that have the number of one: what one
// wrote into the gate would be taken for the other's. Those that do not answer are
// left out.
func distinct(all []identity) error {
	for i, a := range all {
		for _, b := range all[:i] {
			switch {
			case a.err != nil || b.err != nil:
			case a.uuid == b.uuid:
				return &told{sentence: fmt.Sprintf("%s and %s are the same database, or one is a copy of the other: each name needs one of its own", b.Name, a.Name)}
			case a.store == b.store:
				return &told{sentence: fmt.Sprintf("the databases %s and %s are both store %d: run `seckill migrate up`, which gives each a number of its own", b.Name, a.Name, a.store)}
			}
		}
	}
	return nil
}

func (c console) checkDistinct() error { return distinct(c.identities("")) }

// databaseOf finds the database that a stream is on. An order that its log does not
// have (yet) is where its id says. What is on none is main's: it knows how to say that.
func (c console) databaseOf(stream string) (config.Database, error) {
	all := c.identities(stream)
	if err := distinct(all); err != nil {
		return config.Database{}, err
	}
	var away []error
	for _, d := range all {
		if d.found {
			return d.Database, nil
		}
		if d.err != nil {
			away = append(away, onDatabase(d.Name, d.err))
		}
	}
	if order, err := domain.ParseOrderID(strings.TrimPrefix(stream, domain.OrderStream(""))); err == nil {
		for _, d := range all {
			if d.err == nil && d.store == int(order.Place.Store) {
				return d.Database, nil
			}
		}
	}
	if len(away) > 0 {
		return config.Database{}, fmt.Errorf("%s is on none of the databases that answer: %w", stream, errors.Join(away...))
	}
	return all[0].Database, nil
}

// onDatabase says of which of several databases an error is.
func onDatabase(name string, err error) error {
	if errors.Is(err, errFound) {
		return err
	}
	return &told{"database " + name + ": " + sentence(err), err}
}
