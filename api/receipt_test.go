package api

import (
	"net/http"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

var testKeys = domain.Keys{Current: 1, Secrets: map[uint8][]byte{1: []byte("a key of the tests, 32 bytes long")}}

// signing makes a house whose refusals have receipts.
func signing(t testing.TB, answer func(commands.PurchaseRequest) (commands.PurchaseResult, error)) (*house, *domain.ReceiptSigner) {
	h := newHouse(t, func(d *Deps, _ *Options) {
		d.Receipts = commands.NewReceipts(&commands.Env{Keys: testKeys, Now: time.Now}, nil)
	})
	h.purchaser.answer = answer
	return h, domain.NewReceiptSigner(testKeys)
}

// receiptOf reads the receipt of a refusal.
func receiptOf(t *testing.T, s *domain.ReceiptSigner, doc map[string]any) domain.Receipt {
	t.Helper()
	text, _ := doc["receipt"].(string)
	r, err := s.Read(text)
	if err != nil {
		t.Fatalf("receipt %q of %v: %v", text, doc, err)
	}
	return r
}

func TestARefusedPurchaseHasAReceiptOfWhatTheGateSaid(t *testing.T) {
	at := time.Date(2026, 11, 11, 0, 0, 1, 234567000, time.UTC)
	h, signer := signing(t, func(commands.PurchaseRequest) (commands.PurchaseResult, error) {
		return commands.PurchaseResult{Outcome: domain.SoldOut, Moment: commands.GateMoment{At: at, Epoch: 2, Next: 71, Bucket: 3}}, nil
	})
	got := receiptOf(t, signer, h.buy(`{"sku":"shoe-42","quantity":1}`).problem(409, domain.CodeSoldOut))
	want := domain.Receipt{
		Key: 1, Code: domain.CodeSoldOut, Sale: testSale, Buyer: got.Buyer, At: at, Item: domain.ItemHash("shoe-42"), Quantity: 1, Bucket: 3, Epoch: 2, Next: 71,
	}
	if got != want || !signer.IsOf(got, "buyer-1") {
		t.Errorf("got %+v; want %+v, of buyer-1", got, want)
	}
}

func TestEveryRefusalOfAPurchaseToAKnownBuyerHasAReceipt(t *testing.T) {
	h, signer := signing(t, func(commands.PurchaseRequest) (commands.PurchaseResult, error) {
		return commands.PurchaseResult{}, &domain.Problem{Code: domain.CodeBusy}
	})
	before := time.Now().Truncate(time.Microsecond)
	for code, reply := range map[domain.Code]*reply{
		domain.CodeBusy:           h.buy(`{"sku":"shoe-42","quantity":1}`),
		domain.CodeInvalidRequest: h.buy(`{"sku":7}`), // not by the prepared text
		domain.CodeSaleNotFound:   h.ask(http.MethodPost, "/api/v1/sales/00000zzz/purchases", `{"sku":"shoe-42","quantity":1}`),
	} {
		got := receiptOf(t, signer, reply.json())
		if got.Code != code || got.Bound != domain.Unknown || got.At.Before(before) || got.Left != domain.Unknown || got.Epoch != 0 || !signer.IsOf(got, "buyer-1") {
			t.Errorf("%s: got %+v; want that code, by the node's own clock, of buyer-1", code, got)
		}
	}
	for what, reply := range map[string]*reply{
		"nobody is signed in": h.buy(`{"sku":"shoe-42","quantity":1}`, "Authorization", ""),
		"no id of a sale":     h.ask(http.MethodPost, "/api/v1/sales/nonsense!/purchases", `{"sku":"shoe-42","quantity":1}`),
		"no purchase":         h.ask(http.MethodGet, "/api/v1/sales/00000zzz", ""),
	} {
		if reply.Status < 400 || reply.json()["receipt"] != nil {
			t.Errorf("%s: got %s, want a refusal without a receipt", what, reply.Body)
		}
	}
}

// What a refusal costs in this package, with and without its receipt.
func BenchmarkRefusedDocument(b *testing.B) {
	all, err := prepareProblems()
	if err != nil {
		b.Fatal(err)
	}
	receipts := commands.NewReceipts(&commands.Env{Keys: testKeys, Now: time.Now}, nil)
	trace := newTraceID()
	for _, with := range []bool{false, true} {
		name := "without a receipt"
		if with {
			name = "with a receipt"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			result, lines := commands.PurchaseResult{Moment: commands.GateMoment{At: time.Now(), Epoch: 1, Next: 2}}, []domain.Line{{SKU: "shoe-42", Quantity: 1}}
			for b.Loop() {
				r := refuse(domain.CodeSoldOut)
				if with {
					refused := result.RefusalOf(r.Code, testSale, "buyer-1", lines)
					r.refused, r.receipts = &refused, receipts
				}
				if _, _, err := all.rendered(r, "en", trace); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
