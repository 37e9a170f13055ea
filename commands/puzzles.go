package commands

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"seckill/domain"
)

// Puzzle is a proof of work as ALTCHA's clients solve it: find the number from 0 to
// MaxNumber for which the SHA-256 of Salt and its digits is Challenge.
type Puzzle struct {
	Algorithm string `json:"algorithm"`
	Challenge string `json:"challenge"`
	MaxNumber int64  `json:"maxnumber"`
	Salt      string `json:"salt"`
	Signature string `json:"signature"`
}

// solution is what ALTCHA's clients send back, base64 over JSON. They may add
// fields, such as how long it took.
type solution struct {
	Algorithm string `json:"algorithm"`
	Challenge string `json:"challenge"`
	Number    *int64 `json:"number"`
	Salt      string `json:"salt"`
	Signature string `json:"signature"`
}

const (
	puzzleAlgorithm = "SHA-256"
	// puzzleLife is how long a puzzle may be solved.
	puzzleLife = 5 * time.Minute
	// maxSolution bounds a solution in characters.
	maxSolution = 4096
	// puzzleWindow is over how long buyers who ask are counted, each once; up to
	// puzzleCalm in it puzzles are as easy as they get. Each so many more make them as
	// much harder again, up to puzzleHardest times: more buyers are not counted.
	puzzleWindow  = 10 * time.Second
	puzzleCalm    = 1000
	puzzleHardest = 50
)

// Puzzles makes puzzles and checks their solutions. It keeps no puzzle: one is
// signed for its buyer and its sale, and the book of tickets remembers which ones
// gave a ticket. It is safe for concurrent use.
type Puzzles struct {
	env  *Env
	base int64
	key  []byte

	mu     sync.Mutex
	window int64 // which puzzleWindow since 1970 is counted
	before int64 // how many buyers asked in the one before
	// asked holds a part of each buyer's name who asked in this window: two who share
	// one count once, and nobody can choose to. At most puzzleHardest*puzzleCalm.
	asked map[uint64]struct{}
}

// NewPuzzles makes puzzles of up to base tries (at least 1,000) each while few are
// asked for.
func NewPuzzles(env *Env, base int64) *Puzzles {
	return &Puzzles{env: env, base: max(base, 1000), key: env.Keys.DerivedKey("puzzle")}
}

// New makes a puzzle for a buyer and a sale.
func (p *Puzzles) New(sale, buyer string) (Puzzle, error) {
	var random [20]byte
	if _, err := io.ReadFull(p.env.Random, random[:]); err != nil {
		return Puzzle{}, fmt.Errorf("make a puzzle: %w", err)
	}
	now := p.env.Now()
	most := p.base * p.harder(now, buyer)
	number := int64(binary.BigEndian.Uint64(random[:8]) % uint64(most+1))
	// The last & keeps digits of the number from being moved into the salt.
	salt := fmt.Sprintf("%s?expires=%d&for=%s&", hex.EncodeToString(random[8:]), now.Add(puzzleLife).Unix(), p.whom(sale, buyer))
	challenge := puzzleHash(salt, number)
	return Puzzle{Algorithm: puzzleAlgorithm, Challenge: challenge, MaxNumber: most, Salt: salt, Signature: p.sign(challenge)}, nil
}

// harder counts the buyer, once in a window however often and for whatever sale he
// asks, and gives how many times harder puzzles are.
func (p *Puzzles) harder(now time.Time, buyer string) int64 {
	window, who := now.UnixNano()/int64(puzzleWindow), p.part(buyer)
	p.mu.Lock()
	defer p.mu.Unlock()
	if window != p.window {
		p.before = 0
		if window == p.window+1 {
			p.before = int64(len(p.asked))
		}
		p.window, p.asked = window, map[uint64]struct{}{}
	}
	if len(p.asked) < puzzleHardest*puzzleCalm {
		p.asked[who] = struct{}{}
	}
	return min(1+max(p.before, int64(len(p.asked)))/puzzleCalm, puzzleHardest)
}

// Check gives the name of a solution of a puzzle that we made for this buyer and
// sale and that is still good: one puzzle has one name, however it is written. Else
// the error is a *domain.Problem.
func (p *Puzzles) Check(sale, buyer, text string) (string, error) {
	if text == "" {
		return "", wrongSolution("is required: solve the challenge first")
	}
	var s solution
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(text) > maxSolution || json.Unmarshal(raw, &s) != nil || s.Number == nil || *s.Number < 0 {
		return "", wrongSolution("want the base64 text of a solved challenge")
	}
	params, ended := strings.CutSuffix(s.Salt, "&")
	_, params, _ = strings.Cut(params, "?expires=")
	expires, whom, _ := strings.Cut(params, "&for=")
	until, err := strconv.ParseInt(expires, 10, 64)
	solved := s.Algorithm == puzzleAlgorithm && puzzleHash(s.Salt, *s.Number) == s.Challenge && hmac.Equal([]byte(p.sign(s.Challenge)), []byte(s.Signature))
	if !ended || err != nil || !solved || !hmac.Equal([]byte(whom), []byte(p.whom(sale, buyer))) {
		return "", wrongSolution("does not solve a challenge of yours for this sale")
	}
	if p.env.Now().Unix() >= until {
		return "", wrongSolution("came too late: solve a new challenge")
	}
	return s.Challenge[:32], nil
}

func wrongSolution(reason string) error {
	return domain.Invalid(domain.FieldError{Field: "solution", Reason: reason})
}

func puzzleHash(salt string, number int64) string {
	sum := sha256.Sum256(strconv.AppendInt([]byte(salt), number, 10))
	return hex.EncodeToString(sum[:])
}

func (p *Puzzles) sign(challenge string) string { return p.mac(challenge) }

// whom names buyer and sale without telling them.
func (p *Puzzles) whom(sale, buyer string) string { return p.mac(sale + " " + buyer)[:32] }

// part is a part of a buyer's name that only the holder of the key can make.
func (p *Puzzles) part(buyer string) uint64 {
	m := hmac.New(sha256.New, p.key)
	m.Write([]byte(buyer))
	return binary.BigEndian.Uint64(m.Sum(nil))
}

func (p *Puzzles) mac(text string) string {
	m := hmac.New(sha256.New, p.key)
	m.Write([]byte(text))
	return hex.EncodeToString(m.Sum(nil))
}
