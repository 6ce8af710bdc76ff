// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"maps"
	"sync"
	"time"

	"github.com/dpaccountant/accountant/internal/ledger"
	"github.com/dpaccountant/accountant/internal/persist/rows"
)

// maxKnown bounds what a store remembers of ledgers.
const maxKnown = 1 << 18

// known is what a store remembers: the numbers of ledgers, which never change, and of each ledger the newest
// entry that is known to be where the server's settings promise. Forgetting a number costs a round trip.
// Whatever was acknowledged or shown is in these heads, so a server that lacks one of them has lost entries.
type known struct {
	mu    sync.Mutex
	names map[string]uint64
	heads heads
}

// heads are ledgers by number, as they were seen.
type heads map[uint64]seen

// seen is where a ledger stood.
type seen struct {
	name    string
	at      ledger.Head
	amended uint64 // how many of its entries amend it
	since   int64  // when it was first seen there, in nanoseconds by this machine's clock
}

func (h heads) add(name string, of rows.Head) {
	h[of.Number] = seen{name: name, at: of.At, amended: of.Amended}
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

// add notes heads that are durable. Readings may end in another order than they began in: the newest stays. Where
// there are too many, those that come next push out any others.
func (k *known) add(durable heads) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.heads == nil {
		k.heads = heads{}
	}
	now := time.Now().UnixNano()
	for number, s := range durable {
		old := k.heads[number]
		if s.at.Position < old.at.Position {
			continue
		}
		if s.since = now; s.at == old.at {
			s.since = old.since
		}
		k.heads[number] = s
	}
	for number := range k.heads {
		if len(k.heads) <= maxKnown {
			break
		}
		delete(k.heads, number)
	}
}

// lose forgets a head that was lost, once the database says so.
func (k *known) lose(number uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.heads, number)
}

// ahead returns those heads that are later than what was read of the same ledgers, or another entry in their place.
func (k *known) ahead(read heads) heads {
	k.mu.Lock()
	defer k.mu.Unlock()
	ahead := heads{}
	for number, s := range read {
		if h, ok := k.heads[number]; ok && h.at != s.at && h.at.Position >= s.at.Position {
			ahead[number] = h
		}
	}
	return ahead
}

// all returns a copy of the heads.
func (k *known) all() heads {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.heads)
}

// has reports whether all of these heads are known to be durable.
func (k *known) has(read heads) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for number, s := range read {
		if k.heads[number].at != s.at {
			return false
		}
	}
	return true
}
