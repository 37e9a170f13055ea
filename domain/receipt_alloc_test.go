//go:build !race

package domain

import "testing"

// The race detector lets a pool forget at random.
func TestSigningAReceiptAllocatesNothing(t *testing.T) {
	s, r, text := NewReceiptSigner(testKeys()), testRefusal(), make([]byte, 0, ReceiptLength)
	if n := testing.AllocsPerRun(100, func() { text, _ = s.Append(text[:0], &r) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}
