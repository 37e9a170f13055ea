package commands

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"seckill/domain"
)

func puzzlesAt(now *time.Time, base int64) *Puzzles {
	keys := domain.Keys{Current: 1, Secrets: map[uint8][]byte{1: []byte("a secret of the tests")}}
	return NewPuzzles(&Env{Keys: keys, Random: rand.Reader, Now: func() time.Time { return *now }}, base)
}

// solved gives what a client sends for a puzzle, after change had its way.
func solved(t testing.TB, p Puzzle, change func(*solution)) string {
	t.Helper()
	s := solution{Algorithm: p.Algorithm, Challenge: p.Challenge, Salt: p.Salt, Signature: p.Signature}
	for n := range p.MaxNumber + 1 {
		if puzzleHash(p.Salt, n) == p.Challenge {
			s.Number = &n
			break
		}
	}
	if s.Number == nil {
		t.Fatalf("no number up to %d solves %+v", p.MaxNumber, p)
	}
	if change != nil {
		change(&s)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(text)
}

func TestAPuzzleIsSolvedByItsNumberForItsBuyerAndSale(t *testing.T) {
	now := pastBegins
	p := puzzlesAt(&now, 1000)
	puzzle, err := p.New("s1", "u1")
	if err != nil {
		t.Fatal(err)
	}
	good := solved(t, puzzle, nil)
	if _, err := p.Check("s1", "u1", good); err != nil {
		t.Fatalf("the solution: %v", err)
	}
	// The puzzle of a shop that makes them as we do, without our key.
	alien := func(s *solution) {
		zero := int64(0)
		s.Number, s.Challenge = &zero, puzzleHash(s.Salt, 0)
	}
	// Digits of the number moved into the salt keep the hash as it is.
	moved := func(s *solution) {
		s.Salt = strings.TrimSuffix(s.Salt, "&") + "&9"
	}
	for name, c := range map[string]struct{ sale, buyer, text string }{
		"nothing":           {"s1", "u1", ""},
		"no base64":         {"s1", "u1", "{}"},
		"no JSON":           {"s1", "u1", "AAAA"},
		"too long":          {"s1", "u1", strings.Repeat("A", maxSolution+4)},
		"another buyer":     {"s1", "u2", good},
		"another sale":      {"s2", "u1", good},
		"another number":    {"s1", "u1", solved(t, puzzle, func(s *solution) { *s.Number++ })},
		"a number below":    {"s1", "u1", solved(t, puzzle, func(s *solution) { *s.Number = -1 })},
		"no number":         {"s1", "u1", solved(t, puzzle, func(s *solution) { s.Number = nil })},
		"a longer life":     {"s1", "u1", solved(t, puzzle, func(s *solution) { s.Salt = strings.Replace(s.Salt, "expires=1", "expires=9", 1) })},
		"not signed":        {"s1", "u1", solved(t, puzzle, alien)},
		"moved digits":      {"s1", "u1", solved(t, puzzle, moved)},
		"another algorithm": {"s1", "u1", solved(t, puzzle, func(s *solution) { s.Algorithm = "SHA-1" })},
	} {
		var wrong *domain.Problem
		if _, err := p.Check(c.sale, c.buyer, c.text); !errors.As(err, &wrong) || wrong.Code != domain.CodeInvalidRequest {
			t.Errorf("%s: got %v, want it refused", name, err)
		}
	}
	now = now.Add(puzzleLife - time.Second)
	if _, err := p.Check("s1", "u1", good); err != nil {
		t.Errorf("a second before its end: %v", err)
	}
	now = now.Add(time.Second)
	if _, err := p.Check("s1", "u1", good); err == nil {
		t.Error("a solution passed after its time")
	}
}

func TestPuzzlesGetHarderTheMoreBuyersAskAndEasyAgain(t *testing.T) {
	now := pastBegins
	p := puzzlesAt(&now, 1000)
	most := func(buyer int) int64 {
		puzzle, err := p.New("s1", fmt.Sprintf("u%d", buyer))
		if err != nil {
			t.Fatal(err)
		}
		return puzzle.MaxNumber
	}
	if got := most(0); got != 1000 {
		t.Errorf("the first: got up to %d, want 1000", got)
	}
	for i := range 3 * puzzleCalm {
		most(i)
	}
	if got := most(0); got != 4000 {
		t.Errorf("after %d: got up to %d, want 4000", 3*puzzleCalm, got)
	}
	now = now.Add(puzzleWindow)
	if got := most(0); got != 4000 {
		t.Errorf("in the next ten seconds: got up to %d, want 4000", got)
	}
	now = now.Add(2 * puzzleWindow)
	if got := most(0); got != 1000 {
		t.Errorf("later: got up to %d, want 1000", got)
	}
	for i := range puzzleHardest*puzzleCalm + 10 {
		p.harder(now, fmt.Sprintf("u%d", i))
	}
	if got := most(0); got != 1000*puzzleHardest || len(p.asked) != puzzleHardest*puzzleCalm {
		t.Errorf("with very many: got up to %d, %d buyers in memory; want %d, %d", got, len(p.asked), 1000*puzzleHardest, puzzleHardest*puzzleCalm)
	}
}

func TestABuyerWhoAsksForManyPuzzlesMakesThemNoHarder(t *testing.T) {
	now := pastBegins
	p := puzzlesAt(&now, 1000)
	for i := range 2 * puzzleCalm {
		puzzle, err := p.New(fmt.Sprintf("s%d", i%3), fmt.Sprintf("u%d", i%100))
		if err != nil || puzzle.MaxNumber != 1000 {
			t.Fatalf("puzzle %d of 100 buyers: got up to %d, %v; want 1000", i, puzzle.MaxNumber, err)
		}
	}
}
