package domain

import (
	"errors"
	"testing"
	"time"
)

func TestATicketIsGoodForItsBuyerAndSaleOnly(t *testing.T) {
	keys := Keys{Current: 2, Secrets: map[uint8][]byte{1: []byte("the older secret"), 2: []byte("the newer secret")}}
	until := time.Date(2026, 11, 11, 0, 2, 0, 123456000, time.UTC)
	text, err := NewTicket(keys, "28t5cy4t", "buyer", until)
	if err != nil || len(text) != TicketLength {
		t.Fatalf("got %q, %v; want %d characters", text, err, TicketLength)
	}
	if again, _ := NewTicket(keys, "28t5cy4t", "buyer", until); again != text {
		t.Errorf("got %q and %q, want the same", text, again)
	}
	id, expires, err := ParseTicket(keys, "28t5cy4t", "buyer", text)
	if err != nil || !expires.Equal(until) || len(id) != 32 {
		t.Fatalf("got %q, %s, %v; want 32 digits and %s", id, expires, err, until)
	}
	for name, c := range map[string]struct {
		keys        Keys
		sale, buyer string
		text        string
	}{
		"another buyer":          {keys, "28t5cy4t", "other", text},
		"another sale":           {keys, "38t5cy4t", "buyer", text},
		"nothing":                {keys, "28t5cy4t", "buyer", ""},
		"cut":                    {keys, "28t5cy4t", "buyer", text[:len(text)-1]},
		"changed":                {keys, "28t5cy4t", "buyer", text[:5] + other(text[5]) + text[6:]},
		"another last character": {keys, "28t5cy4t", "buyer", text[:33] + "!"},
		"a key that is gone":     {Keys{Current: 1, Secrets: map[uint8][]byte{1: keys.Secrets[1]}}, "28t5cy4t", "buyer", text},
	} {
		if id, _, err := ParseTicket(c.keys, c.sale, c.buyer, c.text); !errors.Is(err, ErrBadTicket) {
			t.Errorf("%s: got %q, %v; want ErrBadTicket", name, id, err)
		}
	}
	keys.Current = 1
	if _, _, err := ParseTicket(keys, "28t5cy4t", "buyer", text); err != nil {
		t.Errorf("after the current key changed: %v, want the ticket to be good still", err)
	}
	if _, err := NewTicket(Keys{}, "28t5cy4t", "buyer", until); err == nil {
		t.Error("a ticket was signed without a secret")
	}
}

// other gives another character than c.
func other(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}
