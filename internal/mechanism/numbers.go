// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"encoding/binary"
	"math"
)

// Numbers is a list of numbers that can be compared with == and be part of a
// map's key, as descriptors must: eight bytes each, so that two lists are equal
// exactly when their bits are. The zero value is the empty list.
type Numbers string

// NumbersOf packs a list.
func NumbersOf(values ...float64) Numbers {
	b := make([]byte, 0, 8*len(values))
	for _, v := range values {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
	}
	return Numbers(b)
}

// Len is the number of numbers.
func (n Numbers) Len() int { return len(n) / 8 }

// At is the i-th number, 0 ≤ i < Len.
func (n Numbers) At(i int) float64 {
	b := n[8*i : 8*i+8]
	return math.Float64frombits(uint64(b[7]) | uint64(b[6])<<8 | uint64(b[5])<<16 | uint64(b[4])<<24 |
		uint64(b[3])<<32 | uint64(b[2])<<40 | uint64(b[1])<<48 | uint64(b[0])<<56) // one load, unlike a loop
}

// Values unpacks the list; nil where it is empty.
func (n Numbers) Values() []float64 {
	if n == "" {
		return nil
	}
	values := make([]float64, 0, n.Len())
	for i := range n.Len() {
		values = append(values, n.At(i))
	}
	return values
}
