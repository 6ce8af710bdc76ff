// SPDX-License-Identifier: Apache-2.0

package ledger

// few finds values by their keys, of which there are seldom more than mostFew: these are compared, which takes less
// time and memory than a map. Its zero value is empty.
type few[K comparable, V any] struct {
	list []pair[K, V] // in the order in which the keys came
	at   map[K]int    // in list; nil for few keys
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

const mostFew = 8

// get returns the value of a key, or nil if it has none. It may be changed until the next put.
func (f *few[K, V]) get(key K) *V {
	if f.at != nil {
		if i, ok := f.at[key]; ok {
			return &f.list[i].value
		}
		return nil
	}
	for i := range f.list {
		if f.list[i].key == key {
			return &f.list[i].value
		}
	}
	return nil
}

// emptied is an empty one in the same memory.
func (f *few[K, V]) emptied() few[K, V] {
	clear(f.list)
	return few[K, V]{list: f.list[:0]}
}

// put sets the value of a key.
func (f *few[K, V]) put(key K, value V) {
	if there := f.get(key); there != nil {
		*there = value
		return
	}
	f.list = append(f.list, pair[K, V]{key, value})
	switch n := len(f.list); {
	case f.at != nil:
		f.at[key] = n - 1
	case n > mostFew:
		f.at = make(map[K]int, 4*mostFew)
		for i := range f.list {
			f.at[f.list[i].key] = i
		}
	}
}
