// SPDX-License-Identifier: Apache-2.0

package packs

import "sync"

// memory is what a pack is made and read in. A daemon deals out as many packs as it writes entries, so this is
// kept from one pack to the next.
type memory struct {
	bytes   []byte
	numbers []uint64
	texts   [][]byte

	principals, bodies texts
	writers, next      []writer
	known              map[writerKey]int // indices of writers
}

// writerKey is a writer by the index of its principal.
type writerKey struct {
	principal uint64
	name      string
}

// maxKept bounds the bytes of a memory that is kept. A pack of MaxBytes takes less.
const maxKept = 1 << 20

var memories = sync.Pool{New: func() any {
	return &memory{principals: newTexts(), bodies: newTexts(), known: map[writerKey]int{}}
}}

// borrow returns a memory in which nothing is in use.
func borrow() *memory { return memories.Get().(*memory) }

// giveBack ends the use of everything in the memory.
func (m *memory) giveBack() {
	if cap(m.bytes)+8*cap(m.numbers)+24*cap(m.texts) > maxKept {
		return
	}
	m.bytes, m.numbers, m.texts = m.bytes[:0], m.numbers[:0], m.texts[:0]
	m.principals.clear()
	m.bodies.clear()
	clear(m.known)
	memories.Put(m)
}

// room returns an empty slice with room for exactly n bytes.
func (m *memory) room(n int) []byte { return take(&m.bytes, n)[:0] }

// take returns n elements of a memory, which may hold anything.
func take[T any](from *[]T, n int) []T {
	begin := len(*from)
	if begin+n > cap(*from) { // what was taken before stays where it is
		*from, begin = make([]T, 0, max(n, 2*cap(*from))), 0
	}
	*from = (*from)[:begin+n]
	return (*from)[begin : begin+n : begin+n]
}
