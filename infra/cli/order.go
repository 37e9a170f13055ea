package cli

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/api"
	"seckill/domain"
)

type orderCmd struct {
	Show   orderShowCmd   `cmd:"" help:"Show any order, as the log has it."`
	Cancel orderCancelCmd `cmd:"" help:"End an order; its units are on sale again."`
	Pay    orderPayCmd    `cmd:"" help:"Record that an order was paid, where no provider tells it."`
}

type orderShowCmd struct {
	Order string `arg:"" help:"The order's id."`
	JSON  bool   `name:"json" help:"Print JSON."`
}

// Run shows an order.
func (o *orderShowCmd) Run(c console) error {
	return c.withAPI(func(ctx context.Context, in inside) error {
		var order api.AdminOrderView
		if err := in.ask(ctx, http.MethodGet, adminOrderPath(o.Order), nil, &order); err != nil {
			return err
		}
		return c.printOrder(order, o.JSON)
	})
}

type orderCancelCmd struct {
	Order   string `arg:"" help:"The order's id."`
	Restock bool   `default:"true" negatable:"" help:"Put its units on sale again; --no-restock writes them off."`
	Force   bool   `help:"Also a paid order, whose money is then due back."`
	Note    string `placeholder:"TEXT" help:"Why, for the log."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run ends an order.
func (o *orderCancelCmd) Run(c console) error {
	body := api.CancelBody{Restock: &o.Restock, Force: o.Force, Note: o.Note}
	return c.changeOrder(o.Order, "/cancellation", body, o.JSON)
}

type orderPayCmd struct {
	Order     string `arg:"" help:"The order's id."`
	PaymentID string `required:"" placeholder:"ID" help:"As whoever took the money names the payment; the same one counts once for an order, and pays another order too that it is named for."`
	Amount    string `placeholder:"AMOUNT" help:"What was paid; with --currency. Default without both: what the order costs."`
	Currency  string `placeholder:"CODE" help:"Its currency; with --amount."`
	Note      string `placeholder:"TEXT" help:"Why, for the log."`
	JSON      bool   `name:"json" help:"Print JSON."`
}

// Validate refuses half an amount, and one that is none.
func (o *orderPayCmd) Validate() error {
	if o.Amount == "" && o.Currency == "" {
		return nil
	}
	if _, err := domain.ParseMoney(o.Amount, o.Currency); err != nil {
		return errors.New("--amount must be a decimal amount such as 19.90 and --currency three capital letters such as CNY, both or none")
	}
	return nil
}

// Run records a payment.
func (o *orderPayCmd) Run(c console) error {
	body := api.SettleBody{PaymentID: o.PaymentID, Amount: o.Amount, Currency: o.Currency, Note: o.Note}
	return c.changeOrder(o.Order, "/payment", body, o.JSON)
}

func adminOrderPath(order string) string { return "/api/v1/admin/orders/" + url.PathEscape(order) }

// changeOrder asks for a change of an order and prints the order.
func (c console) changeOrder(id, action string, body any, asJSON bool) error {
	return c.withAPI(func(ctx context.Context, in inside) error {
		if err := in.checkLog(ctx); err != nil {
			return err
		}
		var before, after api.AdminOrderView
		if err := in.ask(ctx, http.MethodGet, adminOrderPath(id), nil, &before); err != nil {
			return err
		}
		if err := in.ask(ctx, http.MethodPost, adminOrderPath(id)+action, body, &after); err != nil {
			return wrongSale(err)
		}
		if after.Version == before.Version {
			c.say("Nothing changed: order %s stood so already.", after.OrderID)
		}
		return c.printOrder(after, asJSON)
	})
}

func (c console) printOrder(o api.AdminOrderView, asJSON bool) error {
	if asJSON {
		return c.json(o)
	}
	t := newTable("order", "sale", "buyer", "status", "amount", "pay by", "money due back")
	status, amount, payBy, due := o.Status, "", "", ""
	if o.Reason != nil {
		status += " (" + *o.Reason + ")"
	}
	if o.Amount != nil && o.Currency != nil {
		amount = *o.Amount + " " + *o.Currency
	}
	if o.PayBy != nil {
		payBy = o.PayBy.Local().Format(time.DateTime)
	}
	if o.RefundDue {
		due = "yes"
	}
	t.AppendRow(table.Row{o.OrderID, o.SaleID, o.BuyerID, status, amount, payBy, due})
	return c.print(t)
}
