package cli

import (
	"sync"

	"seckill/eventstore"
)

// bell tells whoever listens that events were stored. The zero value is usable.
type bell struct {
	mu     sync.Mutex
	listen []func()
}

// hear adds a listener, which must not block.
func (b *bell) hear(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.listen = append(b.listen, f)
}

func (b *bell) ring([]eventstore.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.listen {
		f()
	}
}
