package limits

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Mark says that a buyer asked too often. It is for people to look at.
type Mark struct {
	Buyer    string    `json:"buyer"`
	Endpoint string    `json:"endpoint"`
	Refused  int64     `json:"refused"` // attempts refused since First
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	Until    time.Time `json:"until"` // when it is forgotten, if nothing more is refused
}

// Bounds of the marks of a process.
const (
	markFor  = 10 * time.Minute
	maxMarks = 10_000
)

// Marks remember who was refused at this process, for ten minutes after the last
// time and at most 10,000 buyers at once; more are only counted. They are safe
// for concurrent use.
type Marks struct {
	now func() time.Time

	mu       sync.Mutex
	marks    map[markKey]*Mark
	unlisted int64
	changes  int64
	swept    time.Time
}

type markKey struct{ endpoint, buyer string }

// NewMarks makes marks that live by a clock.
func NewMarks(now func() time.Time) *Marks {
	return &Marks{now: now, marks: map[markKey]*Mark{}}
}

// Add notes a refusal and tells whether the buyer had no mark before.
func (m *Marks) Add(endpoint, buyer string) (fresh bool) {
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	mark := m.marks[markKey{endpoint, buyer}]
	if mark == nil || !mark.Until.After(now) {
		if mark == nil && !m.room(now) {
			m.unlisted++
			return false
		}
		buyer = strings.Clone(buyer) // not the token that it was cut from
		mark = &Mark{Buyer: buyer, Endpoint: endpoint, First: now}
		m.marks[markKey{endpoint, buyer}] = mark
		fresh = true
	}
	mark.Refused++
	m.changes++
	mark.Last, mark.Until = now, now.Add(markFor)
	return fresh
}

// room tells whether another mark may be kept. It looks for old ones at most once
// a second.
func (m *Marks) room(now time.Time) bool {
	if len(m.marks) >= maxMarks && now.Sub(m.swept) >= time.Second {
		m.sweep(now)
	}
	return len(m.marks) < maxMarks
}

func (m *Marks) sweep(now time.Time) {
	m.swept = now
	for key, mark := range m.marks {
		if !mark.Until.After(now) {
			delete(m.marks, key)
		}
	}
}

// List gives the marks of now, most refused first, and how many refusals found no
// room for a mark since the start.
func (m *Marks) List() (marks []Mark, unlisted int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(m.now())
	for _, mark := range m.marks {
		marks = append(marks, *mark)
	}
	slices.SortFunc(marks, func(a, b Mark) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), strings.Compare(a.Buyer, b.Buyer), strings.Compare(a.Endpoint, b.Endpoint))
	})
	return marks, m.unlisted
}

// changed counts the refusals that were noted.
func (m *Marks) changed() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changes
}

// Size is how many marks there are, those of a moment ago included.
func (m *Marks) Size() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.now(); now.Sub(m.swept) >= time.Second {
		m.sweep(now)
	}
	return len(m.marks)
}
