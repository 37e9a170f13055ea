package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/api"
	"seckill/domain"
)

type saleCmd struct {
	Create  saleCreateCmd  `cmd:"" help:"Schedule a sale."`
	List    saleListCmd    `cmd:"" help:"List every sale."`
	Show    saleShowCmd    `cmd:"" help:"Show one sale."`
	Revise  saleReviseCmd  `cmd:"" help:"Change what a sale says."`
	Confirm saleConfirmCmd `cmd:"" help:"Let a sale open that waits for that, after a clean preheat."`
	Release saleReleaseCmd `cmd:"" help:"Put more units of an item on sale, or take units off sale."`
	Close   saleCloseCmd   `cmd:"" help:"End a sale for good."`
	Pause   salePauseCmd   `cmd:"" help:"Stop selling for a while."`
	Resume  saleResumeCmd  `cmd:"" help:"Sell again."`
}

type saleCreateCmd struct {
	File     string `placeholder:"FILE" help:"A sale as the admin API takes it, in JSON (- reads stdin). Then no other flag is needed."`
	Title    string `placeholder:"TEXT" help:"Title of the sale."`
	SKU      string `name:"sku" placeholder:"SKU" help:"The item."`
	Stock    *int64 `placeholder:"N" help:"How many units there are."`
	Price    string `default:"0.00" placeholder:"AMOUNT" help:"Price of a unit, a decimal number. Default: ${default}."`
	Currency string `default:"CNY" placeholder:"CODE" help:"Its currency. Default: ${default}."`
	// Strategy and Acknowledgement are the API's to judge.
	Strategy        string `complete:"postgres,redis-sync,redis-async" placeholder:"NAME" help:"What an answer waits for: postgres, redis-sync or redis-async. Default: redis-async."`
	Acknowledgement string `complete:"memory,aof,fsync,replicated" placeholder:"NAME" help:"How surely the gate keeps a purchase before it is told: memory, aof, fsync or replicated. Default: memory."`

	Buckets  int           `default:"1" placeholder:"N" help:"Parts that the stock is dealt over, each in a lane of its own (docs/buckets.md). Default: ${default}."`
	Limit    int64         `default:"1" placeholder:"N" help:"Units a buyer may hold. Default: ${default}."`
	OpensAt  string        `placeholder:"TIME" help:"When it opens, RFC 3339 with a zone. Default: now."`
	OpensIn  time.Duration `placeholder:"DURATION" help:"Opens so long from now, such as 90s."`
	ClosesAt string        `placeholder:"TIME" help:"When it closes. Default: an hour after it opens."`
	JSON     bool          `name:"json" help:"Print JSON."`
}

// Validate refuses two ways to say the same.
func (s *saleCreateCmd) Validate() error {
	if s.OpensAt != "" && s.OpensIn != 0 {
		return errors.New("say either --opens-at or --opens-in")
	}
	if s.File != "" {
		return nil
	}
	switch _, err := domain.ParseMoney(s.Price, s.Currency); {
	case s.SKU == "" || s.Stock == nil:
		return errors.New("name what is sold: --sku and --stock, or a --file")
	case !domain.ValidSKU(s.SKU):
		return errors.New("--sku must have 1 to 64 letters, digits, '.', '_' or '-'")
	case *s.Stock < 0 || *s.Stock > domain.MaxQuantity:
		return fmt.Errorf("--stock must be 0 to %d", domain.MaxQuantity)
	case s.Buckets < 1 || s.Buckets > domain.MaxBuckets:
		return fmt.Errorf("--buckets must be 1 to %d", domain.MaxBuckets)
	case s.Limit < 1 || s.Limit > domain.MaxQuantity:
		return fmt.Errorf("--limit must be 1 to %d", domain.MaxQuantity)
	case err != nil:
		return errors.New("--price must be a decimal amount such as 19.90 and --currency three capital letters such as CNY")
	}
	return nil
}

// Run schedules a sale.
func (s *saleCreateCmd) Run(c console) error {
	body, err := s.body()
	if err != nil {
		return err
	}
	with := c.withAPI
	if c.settings.Several() {
		with = c.withHouse
	}
	return with(func(ctx context.Context, in inside) error {
		if err := in.checkLog(ctx); err != nil {
			return err
		}
		var sale api.AdminSaleView
		if err := in.ask(ctx, http.MethodPost, "/api/v1/admin/sales", body, &sale); err != nil {
			return wrongSale(err)
		}
		return c.printSale(sale, s.JSON)
	})
}

// wrongSale makes the refusal of a sale that cannot be a usage error: what was
// asked for has to change.
func wrongSale(err error) error {
	var refusal *refused
	if errors.As(err, &refusal) && refusal.problem.Code == string(domain.CodeInvalidRequest) {
		return &usageError{err}
	}
	return err
}

func (s *saleCreateCmd) body() (any, error) {
	if s.File != "" {
		return readJSON(s.File)
	}
	opens := time.Now().Add(s.OpensIn)
	if s.OpensAt != "" {
		var err error
		if opens, err = time.Parse(time.RFC3339, s.OpensAt); err != nil {
			return nil, usage("--opens-at must be a time with a zone, such as 2026-11-11T00:00:00+08:00")
		}
	}
	closes := s.ClosesAt
	if closes == "" {
		closes = opens.Add(time.Hour).Format(time.RFC3339Nano)
	}
	title := s.Title
	if title == "" {
		title = s.SKU
	}
	return api.SaleBody{
		Title: title, OpensAt: opens.Format(time.RFC3339Nano), ClosesAt: closes, LimitPerBuyer: s.Limit,
		Strategy: s.Strategy, Acknowledgement: s.Acknowledgement, Buckets: s.Buckets,
		Items: []api.ItemBody{{SKU: s.SKU, Title: title, Price: s.Price, Currency: s.Currency, Stock: *s.Stock}},
	}, nil
}

// readJSON reads a file as it is; "-" is stdin.
func readJSON(file string) (json.RawMessage, error) {
	read := func() ([]byte, error) { return os.ReadFile(file) }
	if file == "-" {
		read = func() ([]byte, error) { return io.ReadAll(os.Stdin) }
	}
	raw, err := read()
	if err != nil {
		return nil, fmt.Errorf("read the sale: %w", err)
	}
	if !json.Valid(raw) {
		return nil, usage("%s is not JSON", file)
	}
	return raw, nil
}

type saleListCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run lists every sale, the newest first.
func (s *saleListCmd) Run(c console) error {
	return c.withAPI(func(ctx context.Context, in inside) error {
		sales, err := allSales(ctx, in)
		if err != nil {
			return err
		}
		if s.JSON {
			return c.json(api.SaleList{Sales: sales})
		}
		return c.printSales(sales)
	})
}

// allSales reads the list of sales page by page, to its end.
func allSales(ctx context.Context, in inside) ([]api.SaleView, error) {
	sales, query := []api.SaleView{}, url.Values{"limit": {"500"}}
	for {
		var page api.SaleList
		if err := in.ask(ctx, http.MethodGet, "/api/v1/sales?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		sales = append(sales, page.Sales...)
		if page.NextCursor == "" {
			return sales, nil
		}
		query.Set("cursor", page.NextCursor)
	}
}

type saleShowCmd struct {
	Sale string `arg:"" help:"The sale's id."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run shows one sale.
func (s *saleShowCmd) Run(c console) error {
	return c.withAPI(func(ctx context.Context, in inside) error {
		var sale api.AdminSaleView
		if err := in.ask(ctx, http.MethodGet, "/api/v1/admin/sales/"+url.PathEscape(s.Sale), nil, &sale); err != nil {
			return err
		}
		if len(sale.Pauses) > 0 {
			c.say("Nothing is sold: %s.", strings.Join(sale.Pauses, ", "))
		}
		return c.printSale(sale, s.JSON)
	})
}

type saleReleaseCmd struct {
	Sale     string `required:"" placeholder:"ID" help:"The sale's id."`
	SKU      string `name:"sku" required:"" placeholder:"SKU" help:"The item."`
	Quantity int64  `required:"" placeholder:"N" help:"How many units more; below 0: how many to take off sale, as --quantity=-5."`
	Key      string `placeholder:"TEXT" help:"Idempotency key: the same again under it changes nothing more."`
	JSON     bool   `name:"json" help:"Print JSON."`
}

// Run puts more units on sale, or takes units off sale.
func (s *saleReleaseCmd) Run(c console) error {
	return c.withAPI(func(ctx context.Context, in inside) error {
		if err := in.checkLog(ctx); err != nil {
			return err
		}
		var done api.ReleaseAnswer
		path := "/api/v1/admin/sales/" + url.PathEscape(s.Sale) + "/items/" + url.PathEscape(s.SKU) + "/releases"
		in.key = s.Key
		if err := in.ask(ctx, http.MethodPost, path, api.ReleaseBody{Quantity: s.Quantity}, &done); err != nil {
			return wrongSale(err)
		}
		if s.JSON {
			return c.json(done)
		}
		t := newTable("item", "released", "left")
		numbers(t, 2, 3)
		t.AppendRow(table.Row{s.SKU, done.Released, done.Available})
		return c.print(t)
	})
}

type saleConfirmCmd struct{ steering }
type saleCloseCmd struct{ steering }
type salePauseCmd struct{ steering }
type saleResumeCmd struct{ steering }

// Run lets a sale open.
func (s *saleConfirmCmd) Run(c console) error { return s.do(c, "confirmation") }

// Run ends a sale.
func (s *saleCloseCmd) Run(c console) error { return s.do(c, "close") }

// Run stops selling.
func (s *salePauseCmd) Run(c console) error { return s.do(c, "pause") }

// Run sells again.
func (s *saleResumeCmd) Run(c console) error { return s.do(c, "resume") }

// steering is an action on one sale.
type steering struct {
	Sale string `arg:"" help:"The sale's id."`
	Note string `placeholder:"TEXT" help:"Why, for the log."`
	JSON bool   `name:"json" help:"Print JSON."`
}

func (s *steering) do(c console, action string) error {
	return c.withAPI(func(ctx context.Context, in inside) error {
		if err := in.checkLog(ctx); err != nil {
			return err
		}
		var before api.SaleView
		var sale api.AdminSaleView
		id := url.PathEscape(s.Sale)
		if err := in.ask(ctx, http.MethodGet, "/api/v1/sales/"+id, nil, &before); err != nil {
			return err
		}
		if err := in.ask(ctx, http.MethodPost, "/api/v1/admin/sales/"+id+"/"+action, api.NoteBody{Note: s.Note}, &sale); err != nil {
			return err
		}
		if sale.Version == before.Version {
			c.say("Nothing changed: sale %s stood so already.", sale.ID)
		}
		return c.printSale(sale, s.JSON)
	})
}
