// SPDX-License-Identifier: Apache-2.0

package mechanism

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What is packed is unpacked bit by bit, and lists are equal when their bits are.
func TestNumbers(t *testing.T) {
	bits := func(values []float64) (b []uint64) {
		for _, v := range values {
			b = append(b, math.Float64bits(v))
		}
		return b
	}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Float64(), 0, 5)
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		n := NumbersOf(a...)
		if n.Len() != len(a) || !slices.Equal(bits(n.Values()), bits(a)) {
			t.Fatalf("%v came back as %v", a, n.Values())
		}
		if (n == NumbersOf(b...)) != slices.Equal(bits(a), bits(b)) {
			t.Fatalf("%v and %v: equal lists and equal bits differ", a, b)
		}
	})
	if NumbersOf() != "" || Numbers("").Values() != nil {
		t.Error("the empty list is not the zero value")
	}
}

// Every list says how long it may be, and nothing else does: by this the table tells lists from other parameters.
func TestListsHaveALongest(t *testing.T) {
	lists := []reflect.Type{reflect.TypeFor[Numbers](), reflect.TypeFor[List[Mechanism]](),
		reflect.TypeFor[List[Event]]()}
	for _, k := range Kinds() {
		for _, p := range k.Parameters {
			if slices.Contains(lists, p.Type) != (p.Most > 0) {
				t.Errorf("%s.%s: of type %v, with %d values at most", k.Name, p.Name, p.Type, p.Most)
			}
		}
	}
}
