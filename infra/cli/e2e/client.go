package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"seckill/api"
)

// Client speaks HTTP to a child as buyers and operators do.
type Client struct {
	URL  string
	http http.Client
}

// NewClient makes a client of the server at url.
func NewClient(url string) *Client {
	return &Client{URL: url, http: http.Client{Timeout: 20 * time.Second}}
}

// Within makes the client give up what is not answered after d (20 s before).
func (c *Client) Within(d time.Duration) *Client {
	c.http.Timeout = d
	return c
}

// Answer is what a call was answered.
type Answer struct {
	Status int
	Header http.Header
	Body   map[string]any
	Raw    string
}

// Text gives a field of the answer as text, "" when it is none.
func (a Answer) Text(field string) string {
	s, _ := a.Body[field].(string)
	return s
}

// NewClientWith makes a client of the server at url that asks by h.
func NewClientWith(url string, h http.Client) *Client { return &Client{URL: url, http: h} }

// Call sends body as JSON (nil for none, a string as it is) as buyer, with
// further headers given as name and value.
func (c *Client) Call(method, path, buyer, role string, body any, headers ...string) (Answer, error) {
	var payload io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		payload = bytes.NewReader([]byte(b))
	default:
		data, err := json.Marshal(b)
		if err != nil {
			return Answer{}, err
		}
		payload = bytes.NewReader(data)
	}
	req, err := http.NewRequest(method, c.URL+path, payload)
	if err != nil {
		return Answer{}, err
	}
	if payload != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if buyer != "" {
		token, err := api.SignToken([]byte(TestSecret), buyer, role, "", time.Hour)
		if err != nil {
			return Answer{}, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.http.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = res.Body.Close() }() // it was read to its end
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Status: res.StatusCode, Header: res.Header, Raw: string(data)}
	if len(data) > 0 && json.Valid(data) {
		err = json.Unmarshal(data, &answer.Body)
	}
	return answer, err
}

// Buy asks for one unit of the test item under an idempotency key.
func (c *Client) Buy(sale, buyer, key string) (Answer, error) {
	return c.Call(http.MethodPost, "/api/v1/sales/"+sale+"/purchases", buyer, "",
		map[string]any{"sku": "item", "quantity": 1}, "Idempotency-Key", key)
}

// Order asks for an order.
func (c *Client) Order(buyer, order, query string) (Answer, error) {
	return c.Call(http.MethodGet, "/api/v1/orders/"+order+query, buyer, "", nil)
}

// saleBody is a sale of one item as the admin API takes it, open from now on.
func saleBody(stock int) map[string]any {
	return map[string]any{
		"title": "Test sale", "opens_at": time.Now().Add(-time.Minute).Format(time.RFC3339), "closes_at": time.Now().Add(time.Hour).Format(time.RFC3339),
		"items": []any{map[string]any{"sku": "item", "title": "Item", "price": "19.90", "currency": "CNY", "stock": stock}},
	}
}

// CreateSale makes a sale over HTTP.
func (c *Client) CreateSale(t testing.TB, stock int) string {
	t.Helper()
	answer, err := c.Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", saleBody(stock))
	if err != nil || answer.Status != http.StatusCreated {
		t.Fatalf("create a sale: %d %s %v", answer.Status, answer.Raw, err)
	}
	return answer.Text("id")
}

// errStatus is an answer that a test did not want.
func errStatus(a Answer) error { return fmt.Errorf("status %d: %s", a.Status, a.Raw) }
