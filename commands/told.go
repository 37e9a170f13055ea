package commands

import "sync"

// maxTold bounds the orders of one generation; two are kept.
const maxTold = 32_768

// toldOrders remembers, within bounds, up to which version of an order answers
// were given here from the log: no later answer may come from a read model that is
// behind it, or a buyer would see a cancellation or a payment taken back.
type toldOrders struct {
	mu         sync.Mutex
	young, old map[string]int64
}

// tell notes that an answer was given.
func (t *toldOrders) tell(answer OrderAnswer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.version(answer.ID) >= answer.Version {
		return
	}
	if len(t.young) >= maxTold {
		t.old, t.young = t.young, nil
	}
	if t.young == nil {
		t.young = map[string]int64{}
	}
	t.young[answer.ID] = answer.Version
}

// beyond says whether more was told of an order than answer knows.
func (t *toldOrders) beyond(answer OrderAnswer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version(answer.ID) > answer.Version
}

func (t *toldOrders) version(order string) int64 {
	if version, ok := t.young[order]; ok {
		return version
	}
	return t.old[order]
}
