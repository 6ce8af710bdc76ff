// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"math"
	"slices"
)

// Merge returns events with the counts of equal mechanisms added up.
func Merge(events []Event) []Part {
	parts := make([]Part, 0, len(events))
	at := Searcher()
	for _, e := range events {
		i, ok := at(parts, e.Mechanism)
		if !ok {
			i = len(parts)
			parts = append(parts, Part{Mechanism: e.Mechanism})
		}
		parts[i].Count += uint64(e.Count)
	}
	return parts
}

// Searcher returns a search in a list that only grows at its end, with an index
// once it is long.
func Searcher() func(parts []Part, m Mechanism) (int, bool) {
	const few = 8
	var index map[Mechanism]int
	known := 0
	return func(parts []Part, m Mechanism) (int, bool) {
		if len(parts) <= few {
			i := slices.IndexFunc(parts, func(p Part) bool { return p.Mechanism == m })
			return i, i >= 0
		}
		if index == nil {
			index = make(map[Mechanism]int, 4*few)
		}
		for ; known < len(parts); known++ {
			index[parts[known].Mechanism] = known
		}
		i, ok := index[m]
		return i, ok
	}
}

// EventsOf returns parts as events: a count above 2³² − 1 becomes several.
func EventsOf(parts []Part) (events []Event) {
	for _, p := range parts {
		for n := p.Count; n > 0; {
			count := min(n, math.MaxUint32)
			events = append(events, Event{Mechanism: p.Mechanism, Count: uint32(count)})
			n -= count
		}
	}
	return events
}
