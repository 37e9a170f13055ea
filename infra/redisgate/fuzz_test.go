package redisgate_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"seckill/commands/gatetest"
	"seckill/domain"
	"seckill/infra/testenv"
)

// FuzzGatesAgree: whatever operations come in whatever order, the scripts on a real
// Redis and the rules in memory give the same answers and end with the same books.
func FuzzGatesAgree(f *testing.F) {
	url := testenv.Redis(f)
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 100, 400, 400} {
		input := make([]byte, n)
		for i := range input {
			input[i] = byte(random.Uint32())
		}
		f.Add(input)
	}
	f.Fuzz(func(t *testing.T, input []byte) { gatetest.AgreeOn(t, input, realGate(url), memoryGate) })
}

// FuzzScriptsAgree: whatever a caller calls itself and asks for, the scripts make of it
// what the rules in memory make of it, and the journal has it as it was asked.
func FuzzScriptsAgree(f *testing.F) {
	url := testenv.Redis(f)
	f.Add("u", "v", "k", "t", int64(1), int64(1), int64(0), uint8(0))
	f.Add(`a|b:c"d\`, `a|b`, "", "", int64(2), int64(3), int64(9), uint8(7))
	f.Add("0", "-1", "k", "", int64(1<<31), int64(-1), int64(0), uint8(1))
	f.Add("T|1|", "nil", "", "t", int64(1<<53+1), int64(1<<62), int64(-1), uint8(255))
	f.Add(`{"o":1}`, "]]", "", "", int64(5), int64(5), int64(1), uint8(2))
	f.Fuzz(func(t *testing.T, a, b, key, ticket string, q1, q2, promised int64, terms uint8) {
		if !domain.ValidBuyer(a) || !domain.ValidBuyer(b) || promised < 0 {
			return // the API lets no such name through, and no promise was ever below nothing
		}
		gatetest.AgreeOnTexts(t, realGate(url), memoryGate, gatetest.Texts{
			Buyers: [2]string{a, b}, Key: hexOf(key), Ticket: hexOf(ticket), Quantities: [2]int64{q1, q2}, Promised: promised,
			Limit: 1 + int64(terms>>2), Orders: 1 + int(terms&3),
		})
	})
}

func hexOf(text string) string { return fmt.Sprintf("%x", text) }

func realGate(url string) gatetest.Maker {
	return func(tb testing.TB) gatetest.Subject {
		s, data := faultyGate(tb, url, testenv.Namespace(tb))
		s.Copy = data.copy
		return s
	}
}
