package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"seckill/api/client"
)

// shop stands in for a server: the first purchase finds it busy, and it is sold out
// for who buys "shoe-43".
func shop() *httptest.Server {
	busy := true
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/sales/{sale}/purchases", func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, 200)
		n, _ := r.Body.Read(body)
		if busy || strings.Contains(string(body[:n]), "shoe-43") {
			w.Header().Set("Content-Type", "application/problem+json")
			status, code, more := 503, "busy", `,"retry_after_ms":10`
			if !busy {
				status, code, more = 409, "sold_out", `,"receipt":"r-1"`
			}
			busy = false
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"status":%d,"code":%q,"detail":"Not now."%s}`, status, code, more)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, `{"order_id":"o-1","status":"queued"}`)
	})
	mux.HandleFunc("GET /api/v1/orders/{order}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"order_id":"o-1","status":"placed","amount":"19.90","currency":"CNY","version":1}`)
	})
	mux.HandleFunc("GET /api/v1/sales/{sale}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"id":"s-1","title":"Shoes","state":"open"}`)
	})
	return httptest.NewServer(mux)
}

// session is where a program keeps its buyer's token.
func session(context.Context) (string, error) { return "token", nil }

// Buy one unit, and wait until the order is recorded.
func Example() {
	server := shop()
	defer server.Close()
	c, err := client.New(server.URL, client.Options{Token: session})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // of all of it
	defer cancel()

	bought, err := c.Purchase(ctx, "s-1", client.Purchase{Lines: []client.Line{{SKU: "shoe-42", Quantity: 1}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	order, err := c.AwaitOrder(ctx, bought.OrderID)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(bought.Status, bought.Tries, order.Status, order.Amount, order.Currency)
	// Output: queued 2 placed 19.90 CNY
}

// Tell apart what became of a purchase: an order, a "no", or what nobody can tell yet.
func ExampleClient_Purchase() {
	server := shop()
	defer server.Close()
	c, err := client.New(server.URL, client.Options{Token: session})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = c.Purchase(context.Background(), "s-1", client.Purchase{
		Lines: []client.Line{{SKU: "shoe-43", Quantity: 1}}, Key: "cart-17", // a key of one's own outlives the process
	})
	var no *client.Problem
	var unknown *client.UnknownError
	switch {
	case err == nil:
		fmt.Println("bought")
	case errors.As(err, &unknown): // first: it may hold a *Problem as well
		fmt.Println("ask again later with the key", unknown.Key)
	case errors.As(err, &no):
		fmt.Println(no.Code, "with receipt", no.Receipt)
	default:
		fmt.Println("nothing was sent:", err)
	}
	// Output: sold_out with receipt r-1
}

// Wait for the opening by the server's clock.
func ExampleClient_AwaitOpen() {
	server := shop()
	defer server.Close()
	c, err := client.New(server.URL, client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	sale, err := c.AwaitOpen(context.Background(), "s-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sale.Title, "is", sale.State)
	// Output: Shoes is open
}
