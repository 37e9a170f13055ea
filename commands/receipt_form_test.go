package commands

import (
	"strings"
	"testing"

	"seckill/domain"
)

// Who copied half a receipt is told so, and not that somebody forged it.
func TestWhatIsWrongWithATextThatIsNoReceiptIsSaid(t *testing.T) {
	for text, want := range map[string]string{
		"": "has 0", "AQEI": "this has 4", strings.Repeat("é", 75): "this has 75",
		strings.Repeat("A", domain.ReceiptLength): "signature is wrong",
	} {
		got := NoReceipt(text)
		if got.Valid || got.Judgement != ReceiptForged || len(got.Says) != 1 || !strings.Contains(got.Says[0], want) {
			t.Errorf("%q: got %+v, want %q", text, got, want)
		}
	}
}
