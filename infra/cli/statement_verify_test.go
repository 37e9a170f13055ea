package cli

import (
	"testing"

	"seckill/commands"
)

func TestOfAStatementWithoutASealNoSealIsClaimed(t *testing.T) {
	none, some := &commands.SignedStatement{}, &commands.SignedStatement{Issued: commands.Issued{SealFirst: 1, SealLast: 2, SealedTo: 9}}
	for _, c := range []struct {
		of          *commands.SignedStatement
		recomputed  bool
		how, sealed string
	}{
		{none, false, "signature", "no seal covers it yet"},
		{none, true, "signature and the log itself", "no seal covers it yet"},
		{some, false, "signature and seals", "sealed up to 9"},
		{some, true, "signature, seals and the log itself", "sealed up to 9"},
	} {
		if how, sealed := holdsBy(c.of, c.recomputed); how != c.how || sealed != c.sealed {
			t.Errorf("recomputed %t: got %q, %q; want %q, %q", c.recomputed, how, sealed, c.how, c.sealed)
		}
	}
}
