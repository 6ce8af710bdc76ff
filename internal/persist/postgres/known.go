package postgres

import (
	"sync"

	"github.com/dpaccountant/accountant/internal/ledger"
)

// maxKnown bounds what a store remembers of ledgers.
const maxKnown = 1 << 18

// known is what a store remembers: the numbers of ledgers, which never change, and the newest head
// of each that is known to be where the server's settings promise. Forgetting costs a round trip.
type known struct {
	mu    sync.Mutex
	names map[string]uint64
	heads map[uint64]ledger.Head
}

// numbers returns the numbers that are known, and the other names.
func (k *known) numbers(names []string) (numbers map[string]uint64, missing []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	numbers = make(map[string]uint64, len(names))
	for _, name := range names {
		if n, ok := k.names[name]; ok {
			numbers[name] = n
		} else {
			missing = append(missing, name)
		}
	}
	return numbers, missing
}

func (k *known) named(name string, number uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.names == nil || len(k.names) >= maxKnown {
		k.names = map[string]uint64{}
	}
	k.names[name] = number
}

// forget makes the store look for a ledger's number again.
func (k *known) forget(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.names, name)
}

// add notes that a head is durable.
func (k *known) add(number uint64, at ledger.Head) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.heads == nil || len(k.heads) >= maxKnown {
		k.heads = map[uint64]ledger.Head{}
	}
	k.heads[number] = at
}

// has reports whether all of these heads are known to be durable.
func (k *known) has(heads map[uint64]ledger.Head) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for number, at := range heads {
		if k.heads[number] != at {
			return false
		}
	}
	return true
}
